package mirror

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha512"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/submitqueue/submitqueue/queue"
)

// Signer signs the commits that a mirror makes. The same payload at the same date
// must have the same signature, because merges are made again, in another process
// or on another server, and must be the same commits.
type Signer interface {
	// Sign returns the armored signature of a commit; date is the commit's own, in
	// seconds.
	Sign(ctx context.Context, payload []byte, date int64) (string, error)
}

// sshSigner signs as `ssh-keygen -Y sign -n git` does.
type sshSigner struct{ key ssh.Signer }

// SSHSigner signs with a private key that has no passphrase: Ed25519 or RSA, because
// their signatures are the same each time.
func SSHSigner(private []byte) (Signer, error) {
	key, err := ssh.ParsePrivateKey(private)
	missing := (*ssh.PassphraseMissingError)(nil)
	switch {
	case errors.As(err, &missing):
		return nil, errors.New("the key for signing has a passphrase; make one without: ssh-keygen -t ed25519 -N '' -f FILE")
	case err != nil:
		return nil, fmt.Errorf("the key for signing cannot be read; make one with: ssh-keygen -t ed25519 -N '' -f FILE: %w", err)
	}
	switch kind := key.PublicKey().Type(); kind {
	case ssh.KeyAlgoED25519, ssh.KeyAlgoRSA:
		return sshSigner{key}, nil
	default:
		return nil, fmt.Errorf("a key of type %s signs differently each time, and merges must be the same when they are made again; use an Ed25519 key: ssh-keygen -t ed25519 -N '' -f FILE", kind)
	}
}

const sshMagic, sshNamespace, sshHash = "SSHSIG", "git", "sha512"

func (s sshSigner) Sign(_ context.Context, payload []byte, _ int64) (string, error) {
	sum := sha512.Sum512(payload)
	signed := append([]byte(sshMagic), ssh.Marshal(struct {
		Namespace, Reserved, Hash string
		Sum                       []byte
	}{sshNamespace, "", sshHash, sum[:]})...)
	var signature *ssh.Signature
	var err error
	if with, ok := s.key.(ssh.AlgorithmSigner); ok && s.key.PublicKey().Type() == ssh.KeyAlgoRSA {
		signature, err = with.SignWithAlgorithm(rand.Reader, signed, ssh.KeyAlgoRSASHA512)
	} else {
		signature, err = s.key.Sign(rand.Reader, signed)
	}
	if err != nil {
		return "", fmt.Errorf("signing a commit: %w", err)
	}
	blob := append([]byte(sshMagic), ssh.Marshal(struct {
		Version                   uint32
		Key                       []byte
		Namespace, Reserved, Hash string
		Signature                 []byte
	}{1, s.key.PublicKey().Marshal(), sshNamespace, "", sshHash, ssh.Marshal(signature)})...)
	text := base64.StdEncoding.EncodeToString(blob)
	var b strings.Builder
	b.WriteString("-----BEGIN SSH SIGNATURE-----\n")
	for len(text) > 70 {
		b.WriteString(text[:70] + "\n")
		text = text[70:]
	}
	return b.String() + text + "\n-----END SSH SIGNATURE-----\n", nil
}

// gpgSigner signs by the program gpg, with the clock set to the commit's date: a
// signature contains its time.
type gpgSigner struct{ key string }

// GPGSigner signs with a key of the user's keyring that needs no passphrase. It
// fails where gpg cannot sign with it.
func GPGSigner(ctx context.Context, key string) (Signer, error) {
	s := gpgSigner{key}
	if _, err := s.sign(ctx, []byte("try\n")); err != nil {
		return nil, fmt.Errorf("gpg cannot sign with the key %q; it must be among those of gpg --list-secret-keys, and have no passphrase: %w", key, err)
	}
	return s, nil
}

func (s gpgSigner) Sign(ctx context.Context, payload []byte, date int64) (string, error) {
	return s.sign(ctx, payload, "--ignore-time-conflict", fmt.Sprintf("--faked-system-time=%d!", date))
}

func (s gpgSigner) sign(ctx context.Context, payload []byte, more ...string) (string, error) {
	// Nobody can enter a passphrase here: a prompt would wait for ever.
	args := append([]string{"--batch", "--no-tty", "--pinentry-mode=error", "--quiet", "--armor", "--detach-sign", "--local-user", s.key}, more...)
	cmd := exec.CommandContext(ctx, "gpg", args...)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(payload), &stderr
	out, err := cmd.Output()
	if block, _ := pem.Decode(out); err == nil && block == nil && !bytes.Contains(out, []byte("BEGIN PGP SIGNATURE")) {
		err = errors.New("gpg gave no signature")
	}
	if err != nil {
		return "", fmt.Errorf("signing a commit: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

// add adds a commit to the new objects, and remembers its content.
func (m *Merges) add(body []byte) queue.CommitID {
	id := queue.CommitID(m.objects.fresh.add("commit", body))
	if info, err := parseCommit(object{"commit", body}); err == nil {
		m.objects.commits.put(id, info, info.size())
	}
	return id
}

// commit adds a commit that others will see: signed, where commits are. date is its own.
func (m *Merges) commit(ctx context.Context, body []byte, date int64) (queue.CommitID, error) {
	if m.Signer == nil {
		return m.add(body), nil
	}
	name := idOf("commit", body)
	signed, ok := m.signed.get(name)
	if !ok {
		signature, err := m.Signer.Sign(ctx, body, date)
		if err != nil {
			return "", err
		}
		at := bytes.Index(body, []byte("\n\n")) + 1
		header := "gpgsig " + strings.ReplaceAll(strings.TrimRight(signature, "\n"), "\n", "\n ") + "\n"
		signed = string(body[:at]) + header + string(body[at:])
		m.signed.put(name, signed, len(signed))
	}
	return m.add([]byte(signed)), nil
}
