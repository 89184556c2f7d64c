package config

// The patterns of the schema, and so of the tags of the structs. Each has its words
// in patternWords.
const (
	namePattern     = `^[a-zA-Z0-9._-]+$`
	areaPattern     = `^[a-zA-Z0-9._/-]+$`
	lanePattern     = `^[a-z0-9][a-z0-9._-]*$`
	wordPattern     = `^[a-zA-Z0-9][a-zA-Z0-9._:/@+-]*$`
	linePattern     = `^\S([^\r\n\x00]*\S)?$`
	appPattern      = `^[a-z0-9][a-z0-9-]*$`
	botPattern      = `^[a-zA-Z0-9][a-zA-Z0-9_-]*(\[bot\])?$`
	whoPattern      = `^(@?[a-zA-Z0-9][a-zA-Z0-9_-]*(\[bot\])?|@[a-zA-Z0-9][a-zA-Z0-9_-]*/[a-zA-Z0-9._-]+)$`
	cronPattern     = `^[0-9A-Za-z*/?-][0-9A-Za-z*/?\x2c \x2d]*$`
	durationPattern = `^([0-9]+(\.[0-9]+)?[hms])+$`
	datePattern     = `^[0-9]{4}-[0-9]{2}-[0-9]{2}$`
	verifyPattern   = `^(off|([0-9]+(\.[0-9]+)?[hms])+)$`

	// UserPattern matches the name of a user in commands.
	UserPattern = `^@?[a-zA-Z0-9][a-zA-Z0-9_-]*(\[bot\])?$`
)

// patternWords says what a text of a pattern is, after "must be".
func patternWords(pattern string) string {
	switch pattern {
	case namePattern:
		return `made of letters, digits, ".", "_" and "-"`
	case areaPattern:
		return `made of letters, digits, ".", "_", "-" and "/"`
	case lanePattern:
		return `made of small letters, digits, ".", "_" and "-" and begin with a letter or digit`
	case wordPattern:
		return `one word of letters, digits and "._:/@+-"`
	case linePattern:
		return "one line without spaces at its ends"
	case appPattern:
		return `the slug of an App, as in github.com/apps/SLUG: lower-case letters, digits and "-" such as "` + AppActions + `"`
	case botPattern:
		return `an App's login such as "renovate[bot]"`
	case whoPattern:
		return `a role (write, maintain, admin), a team such as "@org/team", or a user`
	case cronPattern:
		return `five fields of crontab(5) such as "0 16 * * FRI"`
	case durationPattern:
		return `a duration in h, m and s such as "10m" or "1h30m"`
	case datePattern:
		return `a day such as 2026-12-31`
	case verifyPattern:
		return `off, or a duration in h, m and s such as "24h"`
	}
	return "a text that matches " + pattern
}
