package report

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// noFiles is a part of readers of reports that are in the output alone.
type noFiles struct{}

// File implements Reader.
func (noFiles) File(string, io.Reader, bool, func(string) string) error {
	return errors.New("this report is read from the output of the step, not from a file")
}

// noLines is a part of readers of reports that are in files alone.
type noLines struct{}

// Line implements Reader.
func (noLines) Line(text string, _ bool, tidy func(string) string) []string {
	return []string{tidy(text)}
}

// linesOf returns the lines of a text without their line ends.
func linesOf(text string) (list []string) {
	for l := range strings.Lines(text) {
		list = append(list, strings.TrimRight(l, "\r\n"))
	}
	return list
}

// maxFileLine is the longest line, in bytes, of a report file that is read by lines.
const maxFileLine = 4 << 20

// eachLine calls take with the lines of a file.
func eachLine(content io.Reader, take func(string) error) error {
	s := bufio.NewScanner(content)
	s.Buffer(make([]byte, 64<<10), maxFileLine)
	for s.Scan() {
		if err := take(s.Text()); err != nil {
			return err
		}
	}
	return s.Err()
}
