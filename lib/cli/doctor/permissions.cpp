#include "cli/doctor/findings.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::cli {

namespace {

/// A command whose absence is felt, how much, and by what.
struct duty {
    needed what;
    severity weight;
    const char* name;
    const char* rule;  ///< what an ACL says to permit it
    const char* consequence;
};

constexpr duty duties[] = {
    {needed::set, severity::error, "SET", "+set", "no lock can be taken there"},
    {needed::get, severity::error, "GET", "+get",
     "locks can be neither given back nor extended there"},
    {needed::pexpire, severity::error, "PEXPIRE", "+pexpire", "locks cannot be extended there"},
    {needed::pttl, severity::error, "PTTL", "+pttl",
     "locks can be neither extended nor inspected there, nor be of several resources"},
    {needed::ping, severity::note, "PING", "+ping",
     "idle connections are looked at with it; a refusal will do"},
    {needed::client_tracking, severity::warning, "CLIENT TRACKING", "+client|tracking",
     "who waits for a lock asks for it again and again"},
    {needed::client_caching, severity::warning, "CLIENT CACHING", "+client|caching",
     "who waits for a lock asks for it again and again"},
    {needed::client_setname, severity::note, "CLIENT SETNAME", "+client|setname",
     "connections have no name in CLIENT LIST"},
    {needed::script_load, severity::note, "SCRIPT LOAD", "+script|load",
     "each script is sent with its text the first time"},
};

constexpr duty greeting{needed::hello, severity::warning, "HELLO", "+hello",
                        "there is no RESP3, and who waits for a lock asks for it again and again"};

constexpr duty deleting{needed::del, severity::error, "DEL", "+del",
                        "locks cannot be given back there, only expire"};
/// Where the server has a command of its own for one lock.
constexpr duty deleting_several{needed::del, severity::warning, "DEL", "+del",
                                "locks of several resources cannot be given back there"};
constexpr duty deleting_by_itself{needed::native_delete, severity::note, "DELIFEQ or DELEX",
                                  "+delifeq or +delex", "locks are given back by a script"};

/// Of fencing tokens and the restart guard.
constexpr duty counting{needed::incr, severity::error, "INCR", "+incr",
                        "locks with fencing tokens cannot be had there"};
constexpr duty dating{needed::time, severity::error, "TIME", "+time",
                      "locks with fencing tokens cannot be had there"};
constexpr duty dating_of_guard{needed::time, severity::error, "TIME", "+time",
                               "the restart guard admits no master, and fencing tokens need it"};

constexpr duty no_digest{needed::evalsha, severity::note, "EVALSHA", "+evalsha",
                         "every script is sent with its text"};
constexpr duty no_text{needed::eval, severity::warning, "EVAL", "+eval",
                       "a script that the server has forgotten, as after SCRIPT FLUSH, cannot be "
                       "sent again"};
constexpr duty no_text_guarded{needed::eval, severity::error, "EVAL", "+eval",
                               "the restart guard admits no master"};

class clerk {
public:
    clerk(const node_facts& f, std::vector<finding>& out) : f_(f), out_(out) {}

    void look_at(const duty& d)
    {
        const trial& t = f_[d.what];
        if (t.is == trial::outcome::forbidden) {
            add(d.weight, "forbidden",
                std::string("does not permit ") + d.name + ": " + d.consequence + ".",
                std::string("Permit it to the user that clients log in as: ") + d.rule + ".");
        } else if (t.is == trial::outcome::unknown) {
            add(d.weight, "unknown-command",
                std::string("does not know ") + d.name + ": " + d.consequence + ".",
                "Use a newer server, or one that does not rename or hide the command.");
        }
    }

    void add(severity weight, const char* code, std::string text, std::string advice)
    {
        out_.push_back({weight, f_.node, code, std::move(text), std::move(advice)});
    }

private:
    const node_facts& f_;
    std::vector<finding>& out_;
};

void look_at_protocol(const node_facts& f, const base::settings& s, clerk& c)
{
    if (f.protocol == 3 || !s.wake_ups) {
        return;
    }
    if (f[needed::hello].is == trial::outcome::forbidden) {
        c.look_at(greeting);
        return;
    }
    c.add(severity::note, "resp2",
          "speaks RESP2 only: who waits for a lock asks for it again and again.",
          "Use Redis from 6 on, or any Valkey, with HELLO and without a proxy before it.");
}

void look_at_deletes(const node_facts& f, clerk& c)
{
    c.look_at(deleting_by_itself);
    const bool has_own = f[needed::native_delete].is == trial::outcome::went;
    c.look_at(has_own ? deleting_several : deleting);
}

void look_at_scripts(const node_facts& f, const base::settings& s, clerk& c)
{
    const bool no_sha = f[needed::evalsha].is_missing();
    const bool no_eval = f[needed::eval].is_missing();
    if (no_sha && no_eval) {
        c.add(severity::error, "no-scripts",
              std::string("permits no scripts, neither EVAL nor EVALSHA: locks cannot be ") +
                  (f.deletes_by == core::compare_and_delete::script ? "given back or " : "") +
                  "extended there, nor have fencing tokens.",
              "Permit them to the user that clients log in as: +eval +evalsha.");
        return;
    }
    c.look_at(no_digest);
    c.look_at(s.guard && !f.is_durable ? no_text_guarded : no_text);
}

void look_at_keys(const node_facts& f, const base::settings& s, clerk& c)
{
    const bool no_keys = std::any_of(f.trials.begin(), f.trials.end(), [](const trial& t) {
        return t.is == trial::outcome::forbidden_key;
    });
    if (no_keys) {
        c.add(severity::error, "forbidden-key",
              "does not permit the keys of the locks: no lock can be taken there.",
              "Permit them to the user that clients log in as: ~" + s.key_prefix + "*.");
    }
}

/// What a lock begins with was refused for another reason: memory, disk, replicas that are missing.
void look_at_writes(const node_facts& f, clerk& c)
{
    const trial& set = f[needed::set];
    if (set.is == trial::outcome::failed && f.unusable.empty()) {
        c.add(severity::error, "refuses-writes", "refuses to write: " + set.error + ".",
              "Put that right: until then it takes no locks.");
    }
}

}  // namespace

void judge_permissions(const node_facts& f, const base::settings& s, std::vector<finding>& out)
{
    clerk c(f, out);
    look_at_writes(f, c);
    look_at_keys(f, s, c);
    for (const duty& d : duties) {
        c.look_at(d);
    }
    look_at_deletes(f, c);
    look_at_protocol(f, s, c);
    look_at_scripts(f, s, c);
    const bool is_guarded = s.guard && !f.is_durable;
    if (is_guarded) {
        c.look_at(dating_of_guard);
    } else if (s.fencing) {
        c.look_at(dating);
    }
    if (s.fencing) {
        c.look_at(counting);
    }
}

bool is_usable(const node_facts& f, const base::settings& s)
{
    const auto may = [&f](needed n) { return f[n].is == trial::outcome::went; };
    const bool has_script = may(needed::eval) || may(needed::evalsha);
    const bool gives_back =
        may(needed::native_delete) || (has_script && may(needed::get) && may(needed::del));
    const bool counts = has_script && may(needed::incr) && may(needed::time);
    const bool is_in_time = f.latency.samples == 0 || f.latency.median < s.node_timeout;
    return f.reached == contact::whole && f.unusable.empty() && !f.is_replica &&
           f.admitted != admittance::other_configuration && may(needed::set) && gives_back &&
           (counts || !s.fencing) && is_in_time;
}

}  // namespace redlock::cli
