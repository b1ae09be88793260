#include "base/text.hpp"
#include "cli/doctor/advice.hpp"
#include "cli/doctor/findings.hpp"
#include "cli/doctor/words.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::cli {

namespace {

/// A command that clients need, how severe its absence is, and the consequence.
struct duty {
    needed what;
    severity weight;
    const char* name;
    const char* rule;  ///< the ACL rule that permits it
    const char* consequence;
};

constexpr duty duties[] = {
    {needed::set, severity::error, "SET", "+set", "no lock can be acquired there"},
    {needed::pttl, severity::error, "PTTL", "+pttl",
     "clients can neither renew, extend, adopt nor inspect locks there, nor lock several "
     "resources, so redlock run loses its lock and redlock release fails"},
    {needed::getrange, severity::note, "GETRANGE", "+getrange",
     "the labels of holders are neither stored nor shown there"},
    {needed::ping, severity::note, "PING", "+ping",
     "clients check idle connections with it; a refusal is enough"},
    {needed::client_setname, severity::note, "CLIENT SETNAME", "+client|setname",
     "connections have no name in CLIENT LIST"},
};

constexpr duty reading{
    needed::get, severity::error, "GET", "+get",
    "no script can release or extend a lock, and clients do not use such a node"};
/// Needed on a server that has a native command to release one lock.
constexpr duty reading_for_scripts{needed::get, severity::error, "GET", "+get",
                                   "locks cannot be renewed or extended there, nor have fencing "
                                   "tokens, and locks of several resources cannot be released"};

constexpr duty tracking{needed::client_tracking, severity::warning, "CLIENT TRACKING",
                        "+client|tracking", "waiters poll"};
constexpr duty caching{needed::client_caching, severity::warning, "CLIENT CACHING",
                       "+client|caching", "waiters poll"};
/// A server that lacks one of the two commands usually lacks both.
constexpr duty tracking_and_caching{needed::client_tracking, severity::warning,
                                    "CLIENT TRACKING and CLIENT CACHING",
                                    "+client|tracking +client|caching", "waiters poll"};

constexpr duty greeting{needed::hello, severity::warning, "HELLO", "+hello",
                        "there is no RESP3, and waiters poll"};

constexpr duty deleting{
    needed::del, severity::error, "DEL", "+del",
    "locks can be acquired there, but not released: each stays until its ttl has passed"};
/// Needed on a server that has a native command to release one lock.
constexpr duty deleting_several{needed::del, severity::warning, "DEL", "+del",
                                "locks of several resources can be acquired there, but not "
                                "released: each stays until its ttl has passed"};
constexpr duty deleting_by_delifeq{needed::native_delete, severity::note, "DELIFEQ", "+delifeq",
                                   "a script releases the locks"};
constexpr duty deleting_by_delex{needed::native_delete, severity::note, "DELEX", "+delex",
                                 "a script releases the locks"};

constexpr duty extending{
    needed::pexpire, severity::error, "PEXPIRE", "+pexpire",
    "locks cannot be renewed or extended there, so redlock run loses its lock"};

/// Needed for fencing tokens and the restart guard. SET starts the counter of a resource with its
/// first token. INCR and PEXPIRE make each later token.
constexpr duty extending_counters{
    needed::pexpire, severity::error, "PEXPIRE", "+pexpire",
    "locks cannot be renewed or extended there, so redlock run loses its lock, and a resource gets "
    "a fencing token there only once"};
constexpr duty counting{needed::incr, severity::error, "INCR", "+incr",
                        "a resource gets a fencing token there only once"};
constexpr duty dating{needed::time, severity::error, "TIME", "+time",
                      "no resource gets its first fencing token there"};
constexpr duty dating_of_guard{needed::time, severity::error, "TIME", "+time",
                               "the restart guard admits no node, and fencing tokens need it"};

constexpr duty no_load{needed::script_load, severity::note, "SCRIPT LOAD", "+script|load",
                       "clients send each script with its text the first time"};
constexpr duty no_digest{needed::evalsha, severity::note, "EVALSHA", "+evalsha",
                         "clients send every script with its text"};
constexpr duty no_text{
    needed::eval, severity::warning, "EVAL", "+eval",
    "the labels of holders (--label) are not kept there, no lock of several resources can be "
    "acquired, and clients cannot send a script again after SCRIPT FLUSH"};
constexpr duty no_text_guarded{needed::eval, severity::error, "EVAL", "+eval",
                               "the restart guard admits no node, and the labels of holders "
                               "(--label) are not kept there"};

class clerk {
public:
    clerk(const node_facts& f, std::vector<finding>& out) : f_(f), out_(out) {}

    void look_at(const duty& d)
    {
        const trial& t = f_[d.what];
        const missing_command c{d.name, d.rule, t};
        if (t.only_in_scripts && d.what == needed::pttl) {
            add(severity::note, "refused-command",
                "refuses PTTL outside of scripts" + (t.error.empty() ? "" : " (" + t.error + ")") +
                    ": waiters poll.",
                lack_advice({d.name, d.rule, {trial::outcome::refused, t.error}}));
        }
        const std::string text = lack_text(c) + ": " + d.consequence + ".";
        if (t.is == trial::outcome::forbidden) {
            add(d.weight, "forbidden", text, lack_advice(c));
        } else if (t.is == trial::outcome::unknown) {
            add(d.weight, "unknown-command", text, lack_advice(c));
        } else if (t.is == trial::outcome::refused) {
            add(d.weight, "refused-command", text, lack_advice(c));
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

void look_at_notifications(const node_facts& f, clerk& c)
{
    const trial& tracks = f[needed::client_tracking];
    const bool lacks_both = tracks.is_missing() && f[needed::client_caching].is == tracks.is;
    c.look_at(lacks_both ? tracking_and_caching : tracking);
    // Without tracking, a server refuses CLIENT CACHING, so that refusal says nothing about
    // permissions.
    if (tracks.is == trial::outcome::went) {
        c.look_at(caching);
    }
}

void look_at_protocol(const node_facts& f, const base::settings& s, clerk& c)
{
    if (f.protocol == 3 || !s.release_notifications) {
        return;
    }
    const auto hello = f[needed::hello].is;
    if (hello == trial::outcome::forbidden || hello == trial::outcome::refused) {
        c.look_at(greeting);
        return;
    }
    if (hello == trial::outcome::untried) {
        return;  // the node has answered nothing, or closes the connection at HELLO
    }
    c.add(severity::note, "resp2", "speaks RESP2 only: waiters poll.",
          "Use Redis from 6 on, or any Valkey, with HELLO and without a proxy in front of it.");
}

void look_at_deletes(const node_facts& f, clerk& c)
{
    const bool is_delex = f.deletes_by == core::compare_and_delete::delex;
    c.look_at(is_delex ? deleting_by_delex : deleting_by_delifeq);
    const bool has_own = f.permits(needed::native_delete);
    c.look_at(has_own ? deleting_several : deleting);
    c.look_at(has_own ? reading_for_scripts : reading);
}

void look_at_scripts(const node_facts& f, const base::settings& s, clerk& c)
{
    const missing_command eval{"EVAL", "+eval", f[needed::eval]};
    const missing_command by_digest{"EVALSHA", "+evalsha", f[needed::evalsha]};
    const missing_command load{"SCRIPT LOAD", "+script|load", f[needed::script_load]};
    if (eval.went.is_missing() && by_digest.went.is_missing()) {
        c.add(severity::error, "no-scripts",
              lack_text(eval, by_digest) + ", so it runs no scripts: locks cannot be " +
                  (f.permits(needed::native_delete) ? "" : "released, ") +
                  "renewed or extended there, nor have fencing tokens or labels.",
              lack_advice(eval, by_digest));
        return;
    }
    if (!f.unusable.empty() && eval.went.is_missing() && load.went.is_missing()) {
        c.add(severity::error, "no-scripts",
              lack_text(eval, load) +
                  ": it has no script to run, a lock could not be released there, and clients do "
                  "not use such a node.",
              lack_advice(eval, load));
        return;
    }
    c.look_at(no_load);
    c.look_at(no_digest);
    c.look_at(s.guard && !f.is_durable ? no_text_guarded : no_text);
}

/// Permissions for the keys of the named resource.
void look_at_named_keys(const node_facts& f, const base::settings& s, clerk& c)
{
    const resource_facts& found = f.of_resource;
    const key_names names = names_of(f, s);
    const std::string resource = base::printable(f.resource);
    std::vector<std::string> needed_keys;
    if (found.forbids_lock) {
        needed_keys.push_back(names.lock);
    }
    if (found.forbids_counter && s.fencing) {
        needed_keys.push_back(names.counter);
    }
    const std::string advice = "Permit this to the user that clients log in as: ";
    if (!needed_keys.empty()) {
        std::string text = "does not permit " + listed(needed_keys) + ": no lock of " + resource +
                           " can be acquired there";
        text += found.forbids_lock ? "." : " with a fencing token.";
        if (found.forbids_label) {
            needed_keys.push_back(names.label);
        }
        if (s.fair_queue && found.forbids_queue) {
            needed_keys.push_back(names.queue);
        }
        if (s.fair_queue && found.forbids_ticket) {
            needed_keys.push_back(names.tickets);
        }
        c.add(severity::error, "forbidden-key", std::move(text),
              advice + rules_for(needed_keys) + ".");
    } else if (found.forbids_label) {
        c.add(severity::note, "forbidden-key",
              "does not permit " + names.label +
                  ": the labels of holders are neither stored nor shown there.",
              advice + rules_for({names.label}) + ".");
    }
}

void look_at_keys(const node_facts& f, const base::settings& s, clerk& c)
{
    if (f.of_resource.is_known) {
        look_at_named_keys(f, s, c);
        return;
    }
    // No lock needs the keys of the queue.
    const auto end = f.trials.begin() + static_cast<std::ptrdiff_t>(needed::queue);
    const bool no_keys = std::any_of(f.trials.begin(), end, [](const trial& t) {
        return t.is == trial::outcome::forbidden_key;
    });
    if (!no_keys) {
        return;
    }
    const std::string prefix = base::printable(s.key_prefix);
    const std::string own = prefix + base::printable(own_keys(f.resource));
    c.add(severity::error, "forbidden-key",
          "does not permit the keys that the doctor tried, which are its own (" + own +
              "...): no lock of such a name can be acquired there.",
          "If the user that clients log in as may use other keys, name one of your resources "
          "(--resource): the doctor then looks at the keys of that resource. Else permit the keys "
          "of your locks to that user, or all: ~" +
              prefix + "*.");
}

/// Reports what is at the keys of the named resource and is no lock, counter or label.
void look_at_values(const node_facts& f, const base::settings& s, clerk& c)
{
    const resource_facts& found = f.of_resource;
    const key_names names = names_of(f, s);
    if (found.is_foreign || found.is_endless) {
        c.add(severity::error, "foreign-key",
              names.lock +
                  (found.is_foreign ? " has another type than a lock: another program wrote it"
                                    : " has no ttl, so no client of redlock wrote it") +
                  ", and no lock of this name can be acquired there.",
              "If the key is data, choose another name or a --key-prefix. If it is the lock of "
              "another program whose holder is gone, delete it on every node (redis-cli DEL).");
    }
    if (!found.counter_fault.empty() && s.fencing) {
        c.add(severity::error, "counter",
              names.counter + " is no fencing counter: it " + found.counter_fault +
                  ". No lock of this name can be acquired there with a fencing token.",
              "Find out which program writes it. Delete it only if no resource compares fencing "
              "tokens of this lock.");
    }
    if (!found.label_fault.empty()) {
        c.add(severity::note, "label",
              names.label + " is no label of a holder: it " + found.label_fault +
                  ". Clients neither store nor show labels of this resource there.",
              "Find out which program writes it, or choose another name or a --key-prefix.");
    }
}

/// Reports that the server refused SET although the command is permitted: for lack of memory, disk
/// or replicas.
void look_at_writes(const node_facts& f, clerk& c)
{
    const trial& set = f[needed::set];
    if (set.is == trial::outcome::failed && f.unusable.empty()) {
        const std::string_view stop = set.error.ends_with('.') ? "" : ".";
        const std::string_view advice = error_advice(set.error);
        c.add(
            severity::error, "refuses-writes",
            std::string("refuses to write: ").append(set.error).append(stop),
            std::string(advice.empty() ? "Correct that: until then it grants no locks." : advice));
    }
}

}  // namespace

void judge_permissions(const node_facts& f, const base::settings& s, std::vector<finding>& out)
{
    clerk c(f, out);
    look_at_writes(f, c);
    look_at_keys(f, s, c);
    look_at_values(f, s, c);
    for (const duty& d : duties) {
        c.look_at(d);
    }
    look_at_notifications(f, c);
    look_at_deletes(f, c);
    look_at_protocol(f, s, c);
    look_at_scripts(f, s, c);
    const bool is_guarded = s.guard && !f.is_durable;
    if (is_guarded) {
        c.look_at(dating_of_guard);
    } else if (s.fencing) {
        c.look_at(dating);
    }
    c.look_at(s.fencing ? extending_counters : extending);
    if (s.fencing) {
        c.look_at(counting);
    }
}

namespace {

bool has_script(const node_facts& f) noexcept
{
    return f.permits(needed::eval) || f.permits(needed::evalsha);
}

bool counts(const node_facts& f) noexcept
{
    return has_script(f) && f.permits(needed::get) && f.permits(needed::incr) &&
           f.permits(needed::pexpire) && f.permits(needed::time) &&
           !f.of_resource.forbids_counter && f.of_resource.counter_fault.empty();
}

}  // namespace

bool is_usable_without_tokens(const node_facts& f, const base::settings& s)
{
    const bool has_release =
        f.permits(needed::native_delete) || (has_script(f) && f.permits(needed::get));
    const bool is_in_time = f.latency.samples == 0 || f.latency.median < s.node_timeout;
    return f.reached == contact::whole && f.unusable.empty() && !f.is_replica() &&
           f.admitted != admittance::other_configuration && f.permits(needed::set) && has_release &&
           is_in_time && !f.of_resource.forbids_lock && !f.of_resource.is_foreign &&
           !f.of_resource.is_endless;
}

bool is_usable(const node_facts& f, const base::settings& s)
{
    return is_usable_without_tokens(f, s) && (!s.fencing || counts(f));
}

bool gives_back(const node_facts& f) noexcept
{
    return f.permits(needed::native_delete) || f.permits(needed::del);
}

bool renews(const node_facts& f) noexcept
{
    return has_script(f) && f.permits(needed::get) && f.permits(needed::pttl) &&
           f.permits(needed::pexpire);
}

bool is_unusable_without_commands(const node_facts& f) noexcept
{
    const bool no_scripts = f[needed::eval].is_missing() && (f[needed::evalsha].is_missing() ||
                                                             f[needed::script_load].is_missing());
    return f[needed::get].is_missing() || no_scripts;
}

}  // namespace redlock::cli
