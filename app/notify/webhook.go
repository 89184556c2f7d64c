package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// Headers of a webhook.
const (
	headerTime      = "X-SubmitQueue-Timestamp"
	headerSignature = "X-SubmitQueue-Signature-256"
)

// encodeWebhook makes a message as it is, signed.
func encodeWebhook(m Message, secret []byte, now time.Time) (body []byte, header http.Header, err error) {
	if body, err = json.Marshal(m); err != nil {
		return nil, nil, err
	}
	at := strconv.FormatInt(now.Unix(), 10)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(at + "."))
	mac.Write(body)
	header = http.Header{}
	header.Set(headerTime, at)
	header.Set(headerSignature, "sha256="+hex.EncodeToString(mac.Sum(nil)))
	return body, header, nil
}
