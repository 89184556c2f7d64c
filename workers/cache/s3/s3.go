// Package s3 keeps archives of caches in a store that speaks the protocol of Amazon S3
// (cache.Store). The bucket's own rules say how long it keeps them.
package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/submitqueue/submitqueue/workers/cache"
)

// Store is a cache.Store in a bucket.
type Store struct {
	client         *minio.Client
	bucket, prefix string
}

var _ cache.Store = (*Store)(nil)

// Open opens the store at s3://BUCKET/PREFIX?endpoint=HOST&region=REGION. The endpoint is a
// host, or an address that begins with http:// or https://; default: Amazon's. The keys are
// those of the usual variables, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN,
// else those of the file that AWS_SHARED_CREDENTIALS_FILE names, else those of the machine it
// runs on. It sends no request yet. Errors are for people.
func Open(address string) (*Store, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return nil, errors.New("write s3://BUCKET/PREFIX?endpoint=HOST&region=REGION; keys are in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	query := u.Query()
	for name := range query {
		if !slices.Contains([]string{"endpoint", "region"}, name) {
			return nil, fmt.Errorf("there is no %q: only endpoint and region can follow the question mark", name)
		}
	}
	endpoint, secure := query.Get("endpoint"), true
	switch scheme, host, ok := strings.Cut(endpoint, "://"); {
	case endpoint == "":
		endpoint = "s3.amazonaws.com"
	case ok && scheme == "http":
		endpoint, secure = host, false
	case ok && scheme == "https":
		endpoint = host
	case ok:
		return nil, fmt.Errorf("the endpoint begins with %q: write a host, or one after http:// or https://", scheme+"://")
	}
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	transport.ResponseHeaderTimeout = 30 * time.Second
	client, err := minio.New(strings.TrimSuffix(endpoint, "/"), &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{},
			&credentials.IAM{Client: &http.Client{Transport: http.DefaultTransport, Timeout: 5 * time.Second}}}),
		Secure: secure, Region: query.Get("region"), Transport: transport, MaxRetries: 2,
	})
	if err != nil {
		return nil, err
	}
	return &Store{client, u.Host, strings.Trim(u.Path, "/")}, nil
}

func (s *Store) name(id string) string { return path.Join(s.prefix, id+".tar.zst") }

// Get implements cache.Store.
func (s *Store) Get(ctx context.Context, id string) (io.ReadCloser, error) {
	o, err := s.client.GetObject(ctx, s.bucket, s.name(id), minio.GetObjectOptions{})
	if err != nil {
		return nil, known(err)
	}
	if _, err := o.Stat(); err != nil { // the request is made here
		return nil, errors.Join(known(err), o.Close())
	}
	return o, nil
}

// Stat implements cache.Store.
func (s *Store) Stat(ctx context.Context, id string) (time.Time, error) {
	info, err := s.client.StatObject(ctx, s.bucket, s.name(id), minio.StatObjectOptions{})
	return info.LastModified, known(err)
}

// Put implements cache.Store.
func (s *Store) Put(ctx context.Context, id string, archive *os.File) error {
	info, err := archive.Stat()
	if err != nil {
		return err
	}
	_, err = s.client.PutObject(ctx, s.bucket, s.name(id), archive, info.Size(), minio.PutObjectOptions{ContentType: "application/zstd"})
	return known(err)
}

// known makes the error for a missing archive fs.ErrNotExist, as cache.Store says. A missing
// bucket is another error.
func known(err error) error {
	if err == nil {
		return nil
	}
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return err
}
