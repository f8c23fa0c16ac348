package extra

import (
	"context"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

var localeSpec = getopt.New("amckvV",
	"all-locales=a charmaps=m category-name=c keyword-name=k verbose=v usage").WithHint("Try `%[1]s --help' or `%[1]s --usage' for more information.").
	WithUsage("[OPTION...] NAME", "Get locale-specific information.").WithVersion("(Debian GLIBC 2.36) 2.36")

var localeCategories = strings.Fields("LC_CTYPE LC_NUMERIC LC_TIME LC_COLLATE LC_MONETARY LC_MESSAGES LC_PAPER LC_NAME LC_ADDRESS LC_TELEPHONE LC_MEASUREMENT LC_IDENTIFICATION")

// localeKeyword is a value of the C locale; quoted where -k shows it so.
type localeKeyword struct {
	category, name, value string
	quoted                bool
}

var localeKeywords = func() []localeKeyword {
	var out []localeKeyword
	add := func(category string, quoted bool, pairs ...string) {
		for i := 0; i+1 < len(pairs); i += 2 {
			out = append(out, localeKeyword{category, pairs[i], pairs[i+1], quoted})
		}
	}
	add("LC_NUMERIC", true, "decimal_point", ".", "thousands_sep", "")
	add("LC_NUMERIC", false, "grouping", "-1", "numeric-decimal-point-wc", "46", "numeric-thousands-sep-wc", "0")
	add("LC_NUMERIC", true, "numeric-codeset", "UTF-8")
	add("LC_TIME", true, "abday", "Sun;Mon;Tue;Wed;Thu;Fri;Sat", "day",
		"Sunday;Monday;Tuesday;Wednesday;Thursday;Friday;Saturday", "abmon",
		"Jan;Feb;Mar;Apr;May;Jun;Jul;Aug;Sep;Oct;Nov;Dec",
		"mon", "January;February;March;April;May;June;July;August;September;October;November;December", "am_pm", "AM;PM",
		"d_t_fmt", "%a %b %e %H:%M:%S %Y", "d_fmt", "%m/%d/%y", "t_fmt", "%H:%M:%S",
		"t_fmt_ampm", "%I:%M:%S %p")
	add("LC_TIME", false, "era", "")
	add("LC_TIME", true, "era_year", "", "era_d_fmt", "")
	add("LC_TIME", false, "alt_digits", "")
	add("LC_TIME", true, "era_d_t_fmt", "", "era_t_fmt", "")
	add("LC_TIME", false, "time-era-num-entries", "0")
	add("LC_TIME", true, "time-era-entries", "S")
	add("LC_TIME", false, "week-ndays", "7", "week-1stday", "19971130", "week-1stweek", "4", "first_weekday", "1",
		"first_workday", "2", "cal_direction", "1")
	add("LC_TIME", true, "timezone", "", "date_fmt", "%a %b %e %H:%M:%S %Z %Y", "time-codeset", "UTF-8")
	add("LC_MESSAGES", true, "yesexpr", "^[yY]", "noexpr", "^[nN]", "yesstr", "", "nostr", "", "messages-codeset", "UTF-8")
	add("LC_MONETARY", true, "int_curr_symbol", "", "currency_symbol", "", "mon_decimal_point", "",
		"mon_thousands_sep", "")
	add("LC_MONETARY", false, "mon_grouping", "-1")
	add("LC_MONETARY", true, "positive_sign", "", "negative_sign", "")
	add("LC_MONETARY", false, "int_frac_digits", "-1", "frac_digits", "-1", "p_cs_precedes", "-1", "p_sep_by_space", "-1",
		"n_cs_precedes", "-1", "n_sep_by_space", "-1", "p_sign_posn", "-1", "n_sign_posn", "-1")
	add("LC_MONETARY", true, "crncystr", "-")
	add("LC_PAPER", false, "height", "297", "width", "210")
	add("LC_MEASUREMENT", false, "measurement", "1")
	add("LC_CTYPE", true, "charmap", "UTF-8")
	add("LC_CTYPE", false, "ctype-mb-cur-max", "6")
	return out
}()

func localeCommand(_ context.Context, p *proc.Process) int {
	opts, args := localeSpec.Parse(p)
	var all, charmaps, keyword, category bool
	for _, o := range opts {
		switch o.Key {
		case "a":
			all = true
		case "m":
			charmaps = true
		case "k":
			keyword = true
		case "c":
			category = true
		case "V":
			p.Out.WriteString("locale (Debian GLIBC 2.36) 2.36\n")
			return 0
		}
	}
	value := func(name string) (string, bool) {
		if v := p.Getenv("LC_ALL"); v != "" {
			return v, true
		}
		if v := p.Getenv(name); v != "" {
			return v, false
		}
		if v := p.Getenv("LANG"); v != "" {
			return v, true
		}
		return "POSIX", true
	}
	known := func(s string) bool {
		return s == "C" || s == "POSIX" || strings.EqualFold(strings.ReplaceAll(s, "-", ""), "C.UTF8")
	}
	for _, c := range []string{"LC_CTYPE", "LC_MESSAGES"} {
		if v, _ := value(c); !known(v) {
			p.Err.WriteString("locale: Cannot set " + c + " to default locale: No such file or directory\n")
		}
	}
	unknown := false
	for _, c := range localeCategories {
		v, _ := value(c)
		unknown = unknown || !known(v)
	}
	if unknown {
		p.Err.WriteString("locale: Cannot set LC_ALL to default locale: No such file or directory\n")
	}
	switch {
	case all:
		p.Out.WriteString("C\nC.utf8\nPOSIX\n")
		return 0
	case charmaps:
		p.Out.WriteString("ANSI_X3.4-1968\nISO-8859-1\nISO-8859-15\nUTF-8\n")
		return 0
	case len(args) == 0:
		p.Out.WriteString("LANG=" + p.Getenv("LANG") + "\nLANGUAGE=" + p.Getenv("LANGUAGE") + "\n")
		for _, c := range localeCategories {
			v, implied := value(c)
			if implied {
				v = "\"" + v + "\""
			}
			p.Out.WriteString(c + "=" + v + "\n")
		}
		p.Out.WriteString("LC_ALL=" + p.Getenv("LC_ALL") + "\n")
		return 0
	}
	charmap := "ANSI_X3.4-1968"
	if v, _ := value("LC_CTYPE"); known(v) && v != "C" && v != "POSIX" {
		charmap = "UTF-8"
	}
	status := 0
	for _, name := range args {
		found := false
		for _, k := range localeKeywords {
			if k.name != name && k.category != name {
				continue
			}
			v := k.value
			if v == "UTF-8" {
				v = charmap
			}
			if category && (!found || k.name == name) {
				p.Out.WriteString(k.category + "\n")
			}
			found = true
			if k.quoted && keyword {
				v = strconv.Quote(v)
			}
			if keyword {
				v = k.name + "=" + v
			}
			p.Out.WriteString(v + "\n")
		}
		if !found {
			p.Err.WriteString("locale: unknown name \"" + name + "\"\n")
			status = 1
		}
	}
	return status
}
