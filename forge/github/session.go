package github

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v60/github"

	"github.com/submitqueue/submitqueue/forge"
)

// session is the credentials of the App's installation on the repository, for
// one purpose. It finds the installation on first use, and once more when GitHub
// no longer takes its token (the App was installed anew, the token was revoked).
type session struct {
	f       *Forge
	purpose purpose

	looking sync.Mutex // held while GitHub is asked for the installation

	mu     sync.Mutex // never held over a request: Limits and forget do not wait for GitHub
	era    int        // rises when an answer that is under way has become void
	inst   *ghinstallation.Transport
	since  time.Time // when inst was found
	budget *budget   // of the installation; nil before it was found

	away error     // why there is no installation for us, as last heard
	told time.Time // when that was
}

// awayPause is how long GitHub is not asked again for a missing installation.
const awayPause = 15 * time.Second

// refused keeps why there is no installation, unless the session was told to forget
// since GitHub was asked.
func (s *session) refused(era int, why error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.era == era {
		s.away, s.told = why, time.Now()
	}
	return why
}

// forget has the installation looked for again, now.
func (s *session) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.era++
	s.inst, s.away = nil, nil
}

// appTransport signs requests as the App itself. A request counts for an
// installation, or for the App: 0.
func (f *Forge) appTransport(installation int64) (*ghinstallation.AppsTransport, error) {
	t, err := ghinstallation.NewAppsTransport(f.o.Shared.of(installation), f.o.AppID, f.o.PrivateKey)
	if err != nil {
		return nil, errors.New("github: the App's private key is not an RSA key in PEM form")
	}
	t.BaseURL = strings.TrimSuffix(f.base.String(), "/")
	return t, nil
}

// installation returns the transport that adds the installation's token.
func (s *session) installation(ctx context.Context) (*ghinstallation.Transport, error) {
	if inst, _, err := s.remembered(); inst != nil || err != nil {
		return inst, err
	}
	s.looking.Lock()
	defer s.looking.Unlock()
	inst, era, err := s.remembered()
	if inst != nil || err != nil {
		return inst, err
	}
	found, err := s.find(ctx)
	if err != nil {
		if e := (*github.ErrorResponse)(nil); errors.As(err, &e) && isNotFound(err) && e.Message != noIntegration {
			return nil, s.refused(era, fmt.Errorf("%w: %w: the App %d is not installed on %s; install it there",
				forge.ErrAway, forge.ErrForbidden, s.f.o.AppID, s.f.mover.place()))
		}
		if err = failure(ctx, "find the installation", asApp(err)); errors.Is(err, forge.ErrAway) {
			return nil, s.refused(era, err)
		}
		return nil, err
	}
	if found.SuspendedAt != nil {
		return nil, s.refused(era, errSuspended)
	}
	// This needs a separate transport: ghinstallation writes to it when a token is
	// renewed.
	account := found.GetID()
	if s.purpose == forGit {
		account = 0 // it asks only for tokens: git must go on when the installation waits
	}
	apps, err := s.f.appTransport(account)
	if err != nil {
		return nil, err
	}
	inst = ghinstallation.NewFromAppsTransport(apps, found.GetID())
	inst.InstallationTokenOptions = s.narrow(found)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.budget = s.f.o.Shared.of(found.GetID())
	if s.era == era {
		s.inst, s.since = inst, time.Now()
	}
	return inst, nil
}

// find asks for the installation on the repository: by its id where that is known,
// since another repository may have its name by now. GitHub does not document that
// address, but redirects former names to such addresses; a server without it is
// asked by name. Tokens are for the id in any case.
func (s *session) find(ctx context.Context) (*github.Installation, error) {
	if id := s.f.repositoryID(); id != 0 {
		if found, _, err := s.f.app.Apps.FindRepositoryInstallationByID(ctx, id); !isNotFound(err) {
			return found, err
		}
	}
	found, _, err := s.f.app.Apps.FindRepositoryInstallation(ctx, s.f.o.Owner, s.f.o.Name)
	return found, err
}

// remembered returns the installation as it was found, or why there is none; both
// are nil if it must be looked for.
func (s *session) remembered() (inst *ghinstallation.Transport, era int, away error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inst != nil && time.Since(s.since) < lookAgain {
		return s.inst, s.era, nil
	}
	if s.away != nil && time.Since(s.told) < awayPause {
		return nil, s.era, s.away
	}
	return nil, s.era, nil
}

var errSuspended = fmt.Errorf("%w: %w: the App's installation is suspended; have it unsuspended", forge.ErrAway, forge.ErrForbidden)

// lookAgain is how long an installation is taken to be as it was found: the
// permissions that are granted decide what tokens may ask for.
const lookAgain = time.Hour

// drop forgets an installation once its token is no longer taken.
func (s *session) drop(inst *ghinstallation.Transport) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inst == inst {
		s.inst = nil
	}
}

// RoundTrip sends the request with a token; once more with another one if the
// first is refused.
func (s *session) RoundTrip(req *http.Request) (*http.Response, error) {
	for again := false; ; again = true {
		inst, err := s.installation(req.Context())
		if err != nil {
			return nil, err
		}
		try := req.Clone(req.Context())
		if again && req.GetBody != nil {
			if try.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
		resp, err := inst.RoundTrip(try)
		if err != nil {
			if s.stale(err) {
				s.drop(inst)
				if !again && (req.Body == nil || req.GetBody != nil) {
					continue // the installation may be gone; or its permissions may have changed, which GitHub answers by 422
				}
			}
			return nil, failure(req.Context(), "reach GitHub as the App", asApp(err))
		}
		s.f.learn(inst)
		if resp.StatusCode == http.StatusForbidden {
			if err := s.suspended(inst, resp); err != nil {
				return nil, err
			}
			return resp, nil
		}
		if resp.StatusCode != http.StatusUnauthorized || again || req.Body != nil && req.GetBody == nil {
			return resp, nil
		}
		io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16))
		resp.Body.Close()
		s.drop(inst)
	}
}

// stale says whether an attempt to get a token failed because the installation
// is gone.
func (s *session) stale(err error) bool {
	e := (*ghinstallation.HTTPError)(nil)
	return errors.As(err, &e) && e.Response != nil && e.Response.StatusCode/100 == 4
}

// token returns an installation token that lives for at least a minute.
func (s *session) token(ctx context.Context) (string, error) {
	inst, err := s.installation(ctx)
	if err != nil {
		return "", err
	}
	token, err := inst.Token(ctx)
	if s.stale(err) {
		s.drop(inst)
		if inst, err = s.installation(ctx); err != nil {
			return "", failure(ctx, "get a token", err)
		}
		token, err = inst.Token(ctx)
	}
	if err != nil {
		return "", failure(ctx, "get a token", asApp(err))
	}
	s.f.learn(inst)
	return token, nil
}

// suspended tells a refusal because of the installation from a refusal of the
// request itself. A body that was read is put back.
func (s *session) suspended(inst *ghinstallation.Transport, resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err != nil {
		return err
	}
	if !strings.Contains(string(body), "installation has been suspended") {
		resp.Body = readCloser{io.MultiReader(bytes.NewReader(body), resp.Body), resp.Body}
		return nil
	}
	resp.Body.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inst == inst { // otherwise, something newer is known
		s.inst, s.away, s.told = nil, errSuspended, time.Now()
	}
	return errSuspended
}
