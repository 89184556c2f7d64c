package coordinator

import (
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"github.com/submitqueue/submitqueue/workers/report"
)

// Bounds of the uploads of a job.
const (
	maxUpload = 256 << 20
	maxFiles  = 10_000
)

// artifacts takes report files that a job uploads: raw, gzipped, or in an archive. They are
// kept until the job ends, only in the coordinator's own folder, under names that the job
// cannot choose.
func (c *Coordinator) artifacts(w http.ResponseWriter, r *http.Request) {
	j := c.jobOf(w, r, "")
	if j == nil {
		return
	}
	c.beat(j)
	c.status(w, j)
	r.Body = http.MaxBytesReader(w, r.Body, maxUpload)
	parts, err := r.MultipartReader()
	if err != nil {
		answer(w, http.StatusBadRequest, message{"400 Bad Request: a file in a multipart form is expected"})
		return
	}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			answer(w, http.StatusBadRequest, message{"400 Bad Request: there is no part named file"})
			return
		}
		if err != nil {
			answer(w, http.StatusBadRequest, message{"400 Bad Request: the form is cut off, or too large"})
			return
		}
		if part.FormName() != "file" {
			continue
		}
		switch err := c.keep(j, part, r.URL.Query().Get("artifact_format"), part.FileName()); {
		case err == nil:
			c.save(j)
			answer(w, http.StatusCreated, map[string]any{"id": j.id})
		case errors.Is(err, errTooLarge):
			answer(w, http.StatusRequestEntityTooLarge, message{"413 Request Entity Too Large"})
		default:
			c.o.Log.Warn("keep a report file", "build", j.a.Build.ID, "machine", j.machine.name, "error", err)
			answer(w, http.StatusBadRequest, message{"400 Bad Request: the file is no archive of the format that it is said to have"})
		}
		return
	}
}

var errTooLarge = errors.New("too large")

// keep stores an uploaded file, or the files of an uploaded archive.
func (c *Coordinator) keep(j *job, in io.Reader, format, name string) error {
	switch format {
	case "gzip":
		zipped, err := gzip.NewReader(in)
		if err != nil {
			return err
		}
		return c.store(j, filepath.Base(name), zipped)
	case "zip", "":
		f, err := os.CreateTemp(c.files(), "upload-*")
		if err != nil {
			return err
		}
		defer func() { _ = f.Close(); _ = os.Remove(f.Name()) }()
		size, err := io.Copy(f, io.LimitReader(in, maxUpload+1))
		if err != nil {
			return err
		}
		if size > maxUpload {
			return errTooLarge
		}
		archive, err := zip.NewReader(f, size)
		if err != nil {
			return err
		}
		if len(archive.File) > maxFiles {
			return errTooLarge
		}
		for _, x := range archive.File {
			if !x.Mode().IsRegular() || !fs.ValidPath(x.Name) {
				continue // a path that leads out, a link, a folder
			}
			content, err := x.Open()
			if err != nil {
				return err
			}
			err = errors.Join(c.store(j, x.Name, content), content.Close())
			if err != nil {
				return err
			}
		}
		return nil
	case "raw":
		return c.store(j, filepath.Base(name), in)
	default:
		return fmt.Errorf("format %q", format)
	}
}

// store keeps one file of a job, under a name of ours.
func (c *Coordinator) store(j *job, name string, content io.Reader) error {
	f, err := os.CreateTemp(c.files(), "report-*")
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.LimitReader(content, report.MaxFile+1))
	err = errors.Join(err, f.Close())
	j.mu.Lock()
	defer j.mu.Unlock()
	j.uploaded += n
	if err == nil && (n > report.MaxFile || j.uploaded > maxUpload || len(j.files) >= maxFiles) {
		err = errTooLarge
	}
	if err == nil && j.files == nil {
		err = errors.New("the job has ended")
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	if old := j.files[name]; old != "" {
		_ = os.Remove(old)
	}
	j.files[name] = f.Name()
	return nil
}
