package agent

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/submitqueue/submitqueue/workers/protocol"
)

// maxUploaded bounds the files of one upload.
const maxUploaded = 256 << 20

// upload sends the artifacts of a job. Only files below the checkout are taken: a symbolic link
// that leads out is not followed.
func (s *slot) upload(ctx context.Context, j protocol.Job, r result, t *trace) error {
	passed := r.state == protocol.StateSuccess
	var failed []error
	for _, a := range j.Artifacts {
		if a.When == "on_failure" && passed || (a.When == "" || a.When == "on_success") && !passed {
			continue
		}
		if a.Format != "zip" && a.Format != "" {
			failed = append(failed, fmt.Errorf("%s: this runner makes no archives of format %s", a.Name, a.Format))
			continue
		}
		if err := s.uploadOne(ctx, j, a, t); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", a.Name, err))
		}
	}
	return errors.Join(failed...)
}

func (s *slot) uploadOne(ctx context.Context, j protocol.Job, a protocol.Artifact, t *trace) error {
	root, err := os.OpenRoot(s.place.Checkout())
	if err != nil {
		return err
	}
	defer root.Close()
	var names []string
	for _, pattern := range a.Paths {
		found, err := doublestar.Glob(root.FS(), strings.TrimPrefix(pattern, "./"), doublestar.WithFilesOnly(), doublestar.WithNoFollow())
		if err != nil {
			return fmt.Errorf("%s: %w", pattern, err)
		}
		names = append(names, found...)
	}
	if len(names) == 0 {
		t.say("submitqueue runner: there is no file %s", strings.Join(a.Paths, ", "))
		return nil
	}
	read, write := io.Pipe()
	form := multipart.NewWriter(write)
	go func() {
		part, err := form.CreateFormFile("file", "artifacts.zip")
		if err == nil {
			err = archive(part, root, names)
		}
		write.CloseWithError(errors.Join(err, form.Close()))
	}()
	query := url.Values{"artifact_format": {"zip"}, "artifact_type": {a.Type}}
	status, _, err := s.agent.send(ctx, http.MethodPost, fmt.Sprintf("jobs/%d/artifacts?%s", j.ID, query.Encode()),
		http.Header{"Content-Type": {form.FormDataContentType()}, http.CanonicalHeaderKey(protocol.HeaderJobToken): {j.Token}}, read, nil)
	_ = read.Close()
	if err == nil && status != http.StatusCreated {
		err = fmt.Errorf("the server answered %d", status)
	}
	return err
}

// archive writes files into an archive.
func archive(out io.Writer, root *os.Root, names []string) error {
	z := zip.NewWriter(out)
	left := int64(maxUploaded)
	for _, name := range names {
		info, err := root.Lstat(name)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		w, err := z.Create(name)
		if err == nil {
			var n int64
			n, err = io.Copy(w, io.LimitReader(f, left+1))
			left -= n
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		if left < 0 {
			return errors.New("the files are too large")
		}
	}
	return z.Close()
}
