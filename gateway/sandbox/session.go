package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/lock"
	"github.com/pgbox/pgbox/gateway/shell"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/gateway/wire"
)

const (
	// MaxSessions is how many named sessions a sandbox has at most.
	MaxSessions = 100
	// MaxSessionName is how long the name of a session may be, in characters.
	MaxSessionName = 128
	// SessionLife is how long a named session lives on without being used.
	SessionLife = 30 * 24 * time.Hour
	// sessionTouch is how old the time of the last use may get before a run that changes nothing else commits a new one.
	sessionTouch = 24 * time.Hour
)

// Session is what of the sandbox's shell a run takes up and keeps. The zero value is the working directory and the
// exported variables of the sandbox; with Full also shell options, functions and aliases. With a Name all of that is a
// session's of its own. On the wire it is true or the name.
type Session struct {
	Full bool
	Name string
}

// IsZero reports whether nothing was asked for.
func (s Session) IsZero() bool { return s == Session{} }

// MarshalJSON writes what UnmarshalJSON reads.
func (s Session) MarshalJSON() ([]byte, error) {
	if s.Name != "" {
		return json.Marshal(s.Name)
	}
	return json.Marshal(s.Full)
}

// UnmarshalJSON reads true, false or a name.
func (s *Session) UnmarshalJSON(data []byte) error {
	*s = Session{}
	if json.Unmarshal(data, &s.Full) == nil {
		return nil
	}
	if json.Unmarshal(data, &s.Name) != nil {
		return errors.New("session: true, false or the name of a session")
	}
	s.Full = true
	return CheckSession(s.Name)
}

// CheckSession says what is wrong with the name of a session.
func CheckSession(name string) error {
	printable := utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
	switch {
	case name == "" || utf8.RuneCountInString(name) > MaxSessionName || !printable:
		return newError(wire.CodeInvalidInput, nil, fmt.Sprintf("session: a name has 1 to %d printable characters",
			MaxSessionName))
	case name == "." || name == "..":
		// No URL can name them.
		return newError(wire.CodeInvalidInput, nil, `session: "." and ".." are not names`)
	}
	return nil
}

func (s Session) check() error {
	if s.Name == "" {
		return nil
	}
	return CheckSession(s.Name)
}

// shells is what a sandbox keeps of its shells: the state of those that name no session, and the sessions.
type shells struct {
	shell.State
	Sessions json.RawMessage `json:"sessions,omitempty"`
}

// session is a named session as it is kept.
type session struct {
	State  json.RawMessage `json:"state"`
	UsedAt time.Time       `json:"usedAt"`
}

func (s *session) expires() time.Time { return s.UsedAt.Add(SessionLife) }

// readShells reads what was stored. An edit of a DBA's must not make a sandbox unusable: what cannot be read is as if
// it had never been.
func readShells(state json.RawMessage) shells {
	var all shells
	if json.Unmarshal(state, &all) != nil {
		all.State = shell.State{} // the sessions are read by themselves
	}
	return all
}

// sessions are those that have not expired.
func (a *shells) sessions(now time.Time) map[string]*session {
	live := map[string]*session{}
	var raw map[string]json.RawMessage
	if len(a.Sessions) == 0 || json.Unmarshal(a.Sessions, &raw) != nil {
		return live
	}
	for name, text := range raw {
		s := new(session)
		if json.Unmarshal(text, s) == nil && len(s.State) > 0 && s.expires().After(now) {
			live[name] = s
		}
	}
	return live
}

// state is that of the session of a name, fresh when there is none.
func (a *shells) state(of Session, now time.Time) (st shell.State, known *session) {
	if of.Name == "" {
		return a.State, nil
	}
	known = a.sessions(now)[of.Name]
	if known == nil || json.Unmarshal(known.State, &st) != nil {
		return shell.State{}, known
	}
	return st, known
}

// with is what is stored when the session of a name ends in a state.
func (a *shells) with(of Session, state shell.State, now time.Time) (json.RawMessage, error) {
	if of.Name == "" {
		return a.encode(state, a.sessions(now))
	}
	text, err := json.Marshal(state)
	if err != nil {
		return nil, err
	}
	live := a.sessions(now)
	live[of.Name] = &session{State: text, UsedAt: now.UTC().Truncate(time.Second)}
	return a.encode(a.State, live)
}

func (a *shells) encode(state shell.State, live map[string]*session) (json.RawMessage, error) {
	out := shells{State: state}
	if len(live) > 0 {
		var err error
		if out.Sessions, err = json.Marshal(live); err != nil {
			return nil, err
		}
	}
	return json.Marshal(out)
}

// storedSize is how many bytes Postgres makes of a state: it writes a space after each comma and colon.
func storedSize(state json.RawMessage) int64 {
	size, quoted := int64(len(state)), false
	for i := 0; i < len(state); i++ {
		switch c := state[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == ',' || c == ':') && i+1 < len(state) && state[i+1] != ' ':
			size++
		}
	}
	return size
}

// SessionInfo describes a named session.
type SessionInfo struct {
	Name      string
	Dir       string    // its working directory
	Variables int       // how many it exports
	Bytes     int64     // that it takes of what a sandbox may keep of its shells
	UsedAt    time.Time // within a day
	ExpiresAt time.Time
}

// Sessions lists the named sessions of a sandbox by name.
func (s *Service) Sessions(ctx context.Context, c Caller, id uuid.UUID) ([]SessionInfo, error) {
	return told(ctx, s, c, id, "session ls", func(ctx context.Context, f *store.Fence) ([]SessionInfo, error) {
		state, err := s.states.Get(ctx, f.ID, f.State)
		if err != nil {
			return nil, err
		}
		all := readShells(state)
		live := all.sessions(s.cfg.Now())
		out := make([]SessionInfo, 0, len(live))
		for _, name := range slices.Sorted(maps.Keys(live)) {
			e := live[name]
			var st shell.State
			_ = json.Unmarshal(e.State, &st) // one that cannot be read begins afresh
			size, err := json.Marshal(e)
			if err != nil {
				return nil, err
			}
			info := SessionInfo{Name: name, Dir: st.Dir, Variables: len(st.Env), Bytes: storedSize(size), UsedAt: e.UsedAt,
				ExpiresAt: e.expires()}
			if info.Dir == "" {
				info.Dir = user.Home
			}
			out = append(out, info)
		}
		return out, nil
	})
}

// DropSession ends a named session: the next run that names it begins afresh.
func (s *Service) DropSession(ctx context.Context, c Caller, id uuid.UUID, name string) error {
	began, what := s.cfg.Now(), "session rm "+name
	err := do(ctx, s, func(ctx context.Context) error {
		return s.commits(ctx, c, id, func(lease lock.Lease) error {
			return s.dropSession(ctx, lease, c, id, name, s.rowOf(c, what, began))
		})
	})
	if err != nil {
		s.note(c, id, -1, what, began, err)
	}
	return err
}

func (s *Service) dropSession(
	ctx context.Context, lease lock.Lease, c Caller, id uuid.UUID, name string, row store.Exec,
) error {
	pin, err := s.pin(ctx, c, id)
	if err != nil {
		return err
	}
	defer pin.Release()
	state, err := s.states.Get(ctx, id, pin.Fence.State)
	if err != nil {
		return err
	}
	all, now := readShells(state), s.cfg.Now()
	live := all.sessions(now)
	if live[name] == nil {
		return newError(wire.CodeENOENT, vfs.ENOENT, "no such session")
	}
	delete(live, name)
	if state, err = all.encode(all.State, live); err != nil {
		return err
	}
	if err := stillOurs(ctx, lease); err != nil {
		return err
	}
	w := pin.Tree.Begin(ctx, s.options(pin.Fence, false))
	_, err = s.commit(ctx, pin.Fence, w, store.Commit{Delta: w.Delta(), ShellState: state, Exec: row,
		Wait: s.cfg.LockTimeout})
	return err
}
