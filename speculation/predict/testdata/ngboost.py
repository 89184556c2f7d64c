"""Makes ngboost.json: what natural gradient boosting does on generated rows.

It is written from Duan et al. 2020, algorithm 1, with the trees of scikit-learn
(tried with 1.2.1) and numpy: python3 ngboost.py >ngboost.json
"""
import json
import numpy as np
from sklearn.tree import DecisionTreeRegressor

STAGES, RATE, TOL = 200, 0.05, 1e-4


def rows(n, seed):
    rng = np.random.RandomState(seed)
    # scikit-learn compares in single precision, so the values fit into it.
    x = np.round(rng.uniform(0, 4, (n, 4)) * 4096) / 4096
    mu = np.sin(x[:, 0]) + 0.5 * x[:, 1] + (x[:, 2] > 2)
    log = mu + rng.normal(size=n) * (0.1 + 0.1 * x[:, 3])
    return x, np.round(np.exp(log) * 65536) / 65536


def nll(theta, y):
    z = (y - theta[:, 0]) / np.exp(theta[:, 1])
    return np.mean(theta[:, 1] + z * z / 2 + np.log(2 * np.pi) / 2)


def fit(x, y, min_leaf):
    start = np.array([y.mean(), np.log(y.std())])
    theta = np.tile(start, (len(y), 1))
    scales, scores, after = [], [], {}
    for m in range(STAGES):
        loss = nll(theta, y)
        sigma = np.exp(theta[:, 1])
        want = np.stack([theta[:, 0] - y, (1 - ((y - theta[:, 0]) / sigma) ** 2) / 2], 1)
        step = np.stack(
            [DecisionTreeRegressor(max_depth=3, min_samples_leaf=min_leaf, random_state=0).fit(x, g).predict(x) for g in want.T], 1
        )
        size, scale = np.linalg.norm(step, axis=1).mean(), 1.0
        while scale <= 256 and nll(theta - scale * step, y) <= loss:
            scale *= 2
        while scale * size >= TOL and not nll(theta - scale * step, y) < loss:
            scale /= 2
        scales.append(scale)
        scores.append(loss)
        theta = theta - RATE * scale * step
        if m + 1 in (1, 10, 50, 100, 200):
            after[m + 1] = theta[:8].tolist()
        if size < TOL:
            break
    return {"start": start.tolist(), "scales": scales, "scores": scores, "after": after, "min_leaf": min_leaf}


x, y = rows(400, 1)
print(json.dumps({
    "rate": RATE, "x": x.tolist(), "y": y.tolist(),
    "normal": fit(x, y, 5), "lognormal": fit(x, np.log(y), 5), "thin": fit(x, np.log(y), 1),
}))
