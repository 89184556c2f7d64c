package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/submitqueue/submitqueue/forge/mirror"
)

// signingFlags set the identity in the queue's commits, and the key that signs them.
type signingFlags struct {
	CommitName  string `env:"SUBMITQUEUE_COMMIT_NAME" help:"Name in the commits that the queue makes." placeholder:"NAME"`
	CommitEmail string `env:"SUBMITQUEUE_COMMIT_EMAIL" help:"Address in them; for signatures that count, one of the account that has the key." placeholder:"ADDRESS"`
	SignKey     string `env:"SUBMITQUEUE_SIGN_KEY" type:"existingfile" help:"File with an SSH key without passphrase (Ed25519 or RSA) that signs commits." placeholder:"FILE"`
	SignGPG     string `name:"sign-gpg" env:"SUBMITQUEUE_SIGN_GPG" help:"Key of gpg's keyring, without passphrase, that signs commits." placeholder:"KEY"`
}

// open returns the identity, zero where none is given, and the signer, nil where
// commits are not signed.
func (f signingFlags) open(ctx context.Context) (id mirror.Identity, signer mirror.Signer, err error) {
	if f.CommitName != "" || f.CommitEmail != "" {
		id = mirror.Identity{Name: cmp.Or(f.CommitName, "SubmitQueue"), Email: cmp.Or(f.CommitEmail, "submitqueue@localhost")}
	}
	switch {
	case f.SignKey != "" && f.SignGPG != "":
		return id, nil, errors.New("--sign-key and --sign-gpg are both given: a commit has one signature, so leave one out")
	case f.SignKey != "":
		private, err := os.ReadFile(f.SignKey)
		if err != nil {
			return id, nil, fmt.Errorf("--sign-key: %w", err)
		}
		if signer, err = mirror.SSHSigner(private); err != nil {
			return id, nil, fmt.Errorf("--sign-key %s: %w", f.SignKey, err)
		}
	case f.SignGPG != "":
		if signer, err = mirror.GPGSigner(ctx, f.SignGPG); err != nil {
			return id, nil, fmt.Errorf("--sign-gpg: %w", err)
		}
	}
	return id, signer, nil
}
