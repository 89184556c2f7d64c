package gitlabci

import (
	"regexp"
	"strings"
)

// evaluate says whether a condition of a rule holds. A condition that it cannot read is Maybe.
func evaluate(text string, vars variables) Answer {
	tokens, ok := scan(text)
	if !ok {
		return Maybe
	}
	p := &parser{tokens: tokens, vars: vars}
	answer := p.or(0)
	if p.bad || len(p.tokens) > 0 {
		return Maybe
	}
	return answer
}

// mostNested bounds brackets.
const mostNested = 50

var token = regexp.MustCompile(`^(?:\s+|(&&|\|\||==|!=|=~|!~|\(|\))|\$(\w+)|\$\{(\w+)\}|"([^"]*)"|'([^']*)'|(/(?:[^/\\]|\\.)+/[imsU]*)|(null|true|false)\b)`)

// word is one token: its kind and its text.
type word struct {
	kind byte // 'o' operator, 'v' variable, 's' string, 'r' pattern, 'n' null
	text string
}

func scan(text string) (list []word, ok bool) {
	for text != "" {
		m := token.FindStringSubmatch(text)
		if m == nil {
			return nil, false
		}
		text = text[len(m[0]):]
		switch {
		case m[1] != "":
			list = append(list, word{'o', m[1]})
		case m[2]+m[3] != "":
			list = append(list, word{'v', m[2] + m[3]})
		case m[6] != "":
			list = append(list, word{'r', m[6]})
		case m[7] == "null":
			list = append(list, word{'n', ""})
		case m[7] != "":
			list = append(list, word{'s', m[7]})
		case strings.TrimSpace(m[0]) != "":
			list = append(list, word{'s', m[4] + m[5]})
		}
	}
	return list, true
}

type parser struct {
	tokens []word
	vars   variables
	bad    bool
}

func (p *parser) next(kind byte, text string) bool {
	if len(p.tokens) > 0 && p.tokens[0].kind == kind && p.tokens[0].text == text {
		p.tokens = p.tokens[1:]
		return true
	}
	return false
}

func (p *parser) or(depth int) Answer {
	out := p.and(depth)
	for p.next('o', "||") {
		out = max(out, p.and(depth))
	}
	return out
}

func (p *parser) and(depth int) Answer {
	out := p.comparison(depth)
	for p.next('o', "&&") {
		out = min(out, p.comparison(depth))
	}
	return out
}

func (p *parser) comparison(depth int) Answer {
	if depth > mostNested {
		p.bad = true
		return Maybe
	}
	if p.next('o', "(") {
		out := p.or(depth + 1)
		p.bad = p.bad || !p.next('o', ")")
		return out
	}
	left, known := p.value()
	for _, op := range []string{"==", "!=", "=~", "!~"} {
		if !p.next('o', op) {
			continue
		}
		var out Answer
		if op[1] == '~' {
			out = p.matches(left, known)
		} else {
			right, also := p.value()
			switch {
			case !known || !also:
				return Maybe
			case left == nil || right == nil:
				out = truth(left == right)
			default:
				out = truth(*left == *right)
			}
		}
		if op[0] == '!' {
			out = Yes - out
		}
		return out
	}
	if !known {
		return Maybe
	}
	return truth(left != nil && *left != "")
}

// matches reads a pattern, which may be in a variable, and matches a value with it.
func (p *parser) matches(left *string, known bool) Answer {
	if len(p.tokens) == 0 {
		p.bad = true
		return Maybe
	}
	t := p.tokens[0]
	p.tokens = p.tokens[1:]
	text := t.text
	switch t.kind {
	case 'v':
		v := p.vars[t.text]
		if v == nil {
			return Maybe
		}
		text = *v
	case 'r', 's':
	default:
		p.bad = true
		return Maybe
	}
	re, ok := pattern(text)
	if !ok || !known {
		return Maybe
	}
	return truth(left != nil && re.MatchString(*left))
}

// value reads a variable, a string or null; known is false for an unknown variable.
func (p *parser) value() (v *string, known bool) {
	if len(p.tokens) == 0 || p.tokens[0].kind == 'o' {
		p.bad = true
		return nil, false
	}
	t := p.tokens[0]
	p.tokens = p.tokens[1:]
	switch t.kind {
	case 'v':
		if v, ok := p.vars[t.text]; ok {
			return v, true
		}
		return nil, nulls.MatchString(t.text)
	case 'n':
		return nil, true
	}
	return &t.text, true
}

func truth(b bool) Answer {
	if b {
		return Yes
	}
	return No
}
