"""Makes logistic.json, the reference of TestLogisticAgreesWithScikitLearn:

    python3 logistic.py > logistic.json

Rows are drawn as by drawn in logistic_test.go.
"""

import json
import math

import numpy
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

MASK = (1 << 64) - 1
state = 17


def u():
    """SplitMix64, 53 bits."""
    global state
    state = (state + 0x9E3779B97F4A7C15) & MASK
    z = state
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    z ^= z >> 31
    return (z >> 11) / (1 << 53)


def row():
    r = [(u() + u() + u() - 1.5) * 10.0 ** (j - 4) for j in range(9)]
    r += [1.0 if u() < 0.1 * (j + 1) else 0.0 for j in range(4)]
    r.append(r[4] + (u() - 0.5))
    v = u()
    r.append(v * v * v * v * 1000)
    r.append(7.0)
    v = u()
    r.append(math.floor(v * v * 20))
    r.append(r[16] + (1.0 if u() < 0.05 else 0.0))
    eta = 1.2 + r[4] - 0.05 * r[5] + 0.8 * r[9] - 1.5 * r[10] + 0.002 * r[14] - 0.1 * r[16]
    return r, u() < 1 / (1 + math.exp(-eta))


rows = [row() for _ in range(19447)]
x = numpy.array([r for r, _ in rows])
y = numpy.array([t for _, t in rows])
cases = []
for c, weighted in ((1.0, False), (0.01, False), (1.0, True)):
    w = numpy.array([1 + i % 3 for i in range(len(y))], dtype=float) if weighted else None
    z = StandardScaler().fit(x, sample_weight=w).transform(x)
    m = LogisticRegression(C=c, solver="newton-cholesky", tol=1e-12, max_iter=100).fit(z, y, w)
    cases.append({
        "c": c,
        "weighted": weighted,
        "bias": m.intercept_[0],
        "weights": m.coef_[0].tolist(),
        "prob": m.predict_proba(z[:5])[:, 1].tolist(),
    })
print(json.dumps({"scikit-learn": sklearn.__version__, "true": int(y.sum()), "cases": cases}, indent=1))
