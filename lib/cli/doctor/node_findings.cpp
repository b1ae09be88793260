#include "base/text.hpp"
#include "cli/doctor/advice.hpp"
#include "cli/doctor/connection.hpp"
#include "cli/doctor/findings.hpp"
#include "cli/doctor/words.hpp"

#include <cmath>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::cli {

namespace {

/// Appends findings of one node.
class pen {
public:
    pen(const node_facts& f, std::vector<finding>& out) : node_(f.node), out_(out) {}

    finding& operator()(severity weight, const char* code, std::string text, std::string advice)
    {
        out_.push_back({weight, node_, code, std::move(text), std::move(advice)});
        return out_.back();
    }

private:
    const std::string& node_;
    std::vector<finding>& out_;
};

bool is_about_tls(const node_facts& f)
{
    return f.has_tls && f.trouble.starts_with("TLS: ");
}

/// OpenSSL's reason, without the name of the OpenSSL library that reported it.
std::string tls_fault(std::string why)
{
    for (const std::string_view part : {"TLS: ", " (SSL routines)"}) {
        if (const auto at = why.find(part); at != why.npos) {
            why.erase(at, part.size());
        }
    }
    return why;
}

const char* what_helps_tls(std::string_view why)
{
    if (why.find("it is not for ") != why.npos) {
        return "Use a name of its certificate in the URL, or give one with --server-name.";
    }
    if (why.find("certificate has expired") != why.npos ||
        why.find("certificate is not yet valid") != why.npos) {
        return "Check the date of this machine, and renew the certificate of the server.";
    }
    if (why.find("certificate verify failed") != why.npos) {
        return "Trust the authority that signed it, if it is yours (--ca-file); else give the "
               "server a certificate that is valid.";
    }
    if (why.find("certificate required") != why.npos) {
        return "Give the clients a certificate (--cert-file, --key-file), or let the server ask "
               "for none (tls-auth-clients).";
    }
    return "Check whether that port speaks TLS, which versions and ciphers the server accepts, and "
           "whether it trusts our certificate (--cert-file, --key-file).";
}

/// Whether the node has answered anything.
bool has_spoken(const node_facts& f)
{
    return f.info || f.latency.samples != 0 || !f.mode.empty();
}

/// The node closes the connection at the first command, be that HELLO or another.
bool breaks_off_at_once(const node_facts& f)
{
    return !has_spoken(f) && !f.has_answered && !says_what_it_does(f.trouble);
}

/// Advice on a node that gives no answer.
std::string what_helps_silence(const node_facts& f)
{
    const bool wants_tls = !f.has_tls && !has_spoken(f);
    if (breaks_off_at_once(f)) {
        return std::string(wants_tls ? "Check whether that port wants TLS (rediss://), and whether"
                                     : "Check whether") +
               " a proxy in front of the server has a server to forward to. Else read the server's "
               "log.";
    }
    return std::string(
               "Read the server's log, and look for slow scripts, a pause (CLIENT PAUSE, "
               "FAILOVER), a fork or memory that is swapped out") +
           (wants_tls ? "; or check whether that port wants TLS (rediss://)." : ".") +
           (f.unanswered.empty() ? ""
                                 : " If a proxy is in front of the server, name the server itself: "
                                   "the proxy may not know these commands.");
}

std::string what_it_does(const node_facts& f)
{
    if (f.trouble == unanswered_commands && !f.unanswered.empty()) {
        return "leaves " + f.unanswered + " unanswered";
    }
    if (says_what_it_does(f.trouble)) {
        return f.trouble;
    }
    if (breaks_off_at_once(f)) {
        return "breaks off before any answer: " + f.trouble;
    }
    return "breaks off: " + f.trouble +
           (f.unanswered.empty() ? "" : ", with " + f.unanswered + " unanswered");
}

/// A finding about a server whose bytes are no replies.
void judge_protocol(const node_facts& f, pen& add)
{
    if (f.has_answered) {
        const std::string at = f.unanswered.empty() ? "" : ", in its answers to " + f.unanswered;
        add(severity::error, "protocol", f.trouble + at + ".",
            "Name the server itself: a proxy in front of it may garble its answers. If there is no "
            "proxy, find out which server listens there.");
        return;
    }
    add(severity::error, "protocol", f.trouble + ".",
        std::string("Check host and port: another kind of server listens there") +
            (f.has_tls ? "." : ", or the port wants TLS (rediss://)."));
}

void judge_contact(const node_facts& f, pen& add)
{
    if (f.trouble == unfinished_tls) {
        add(severity::error, "tls", f.trouble + ".",
            "Name the port that speaks TLS (tls-port), or speak plainly to this one (redis://). If "
            "it is the right port, read the server's log: it may hang.");
    } else if (is_about_tls(f)) {
        add(severity::error, "tls", "does not agree on TLS: " + tls_fault(f.trouble) + ".",
            what_helps_tls(f.trouble));
    } else if (f.reached == contact::none) {
        add(severity::error, "unreachable", "is not reachable: " + f.trouble + ".",
            std::string("Check whether the server runs, listens on that address") +
                (f.has_tls ? " and speaks TLS there" : "") + ", and can be reached from here.");
    } else if (f.trouble.starts_with(foreign_protocol) && f.unusable.empty()) {
        judge_protocol(f, add);
    } else if (f.reached == contact::broken && f.unusable.empty() && f.has_answered &&
               !f.unanswered.empty()) {
        add(severity::error, "unanswered",
            what_it_does(f) +
                ". Clients send these commands on each connection, and do not use it.",
            "Name the server itself: a proxy in front of it may not know one of these commands. "
            "If there is no proxy, the server may be paused (CLIENT PAUSE, FAILOVER) or busy: read "
            "its log.");
    } else if (f.reached == contact::broken && f.unusable.empty()) {
        add(severity::error, "silent", "accepts connections, but " + what_it_does(f) + ".",
            what_helps_silence(f));
    }
    if (f.closes_at_hello || f.answers_hello_oddly) {
        add(severity::warning, "no-hello",
            std::string(f.closes_at_hello ? "closes the connection at HELLO"
                                          : "does not answer HELLO with a greeting") +
                ", so clients greet it without HELLO: there is no RESP3, and waiters poll.",
            "Check what is in front of the server: a proxy may not know HELLO.");
    }
}

/// Whether no server of Redis's kind answers like this. Its answers to other commands say nothing
/// then.
bool answers_senselessly(std::string_view unusable)
{
    return unusable.starts_with("the answer to ") || unusable == "a reply came out of turn";
}

/// Whether the client's trial of a release fails because a command is missing. Another finding
/// names that command.
bool is_said_of_commands(const node_facts& f)
{
    return is_unusable_without_commands(f) && !answers_senselessly(f.unusable) &&
           f.unusable.find("release") != f.unusable.npos;
}

bool is_loading(const node_facts& f)
{
    return f.unusable.ends_with("(LOADING)") || (f.info && f.info->loading == "1");
}

std::string_view what_helps_use(std::string_view unusable)
{
    if (unusable.starts_with("the server refused the database")) {
        return "Name a database at the end of the URL that the server has (databases in its "
               "configuration), and that the user may SELECT.";
    }
    if (unusable.find("too many clients") != unusable.npos) {
        return "Allow more clients (maxclients), or find in CLIENT LIST which client has too many "
               "connections.";
    }
    if (answers_senselessly(unusable)) {
        return "Name the server itself: it answers a command of clients with something that no "
               "Redis answers, so another kind of server or a proxy may be there.";
    }
    if (unusable.starts_with("the restart guard's marker")) {
        return "Find out which program writes this key, and delete it on the server; or give the "
               "clients a --key-prefix.";
    }
    if (unusable.find("which the restart guard needs") != unusable.npos) {
        return "Permit INFO to the user that clients log in as (+info), and name the server itself "
               "if a proxy answers in its place; or turn the restart guard off in all clients.";
    }
    if (unusable.find("the restart guard needs noeviction") != unusable.npos) {
        return "Set maxmemory-policy noeviction.";
    }
    const std::string_view advice = error_advice(unusable);
    return advice.empty() ? "Read the server's log, and name the server itself if there is a proxy "
                            "in front of it."
                          : advice;
}

void judge_use(const node_facts& f, pen& add)
{
    if (f.login_refused) {
        add(severity::error, "login", "refuses the login: " + f.unusable + ".",
            "Correct user and password: here (in the URL; or --user, and REDLOCK_PASSWORD or "
            "--password-file), or in the server's ACL.");
    } else if (f.mode == "cluster") {
        add(severity::error, "cluster",
            "is a node of a cluster, whose keys move and fail over to replicas: clients do not use "
            "it.",
            "Use independent servers, with cluster-enabled no.");
    } else if (f.mode == "sentinel") {
        add(severity::error, "sentinel", "is a sentinel, not a master: clients do not use it.",
            "Name independent servers, and let no sentinel fail them over.");
    } else if (is_loading(f)) {
        add(severity::error, "loading",
            "loads its data into memory (LOADING), and grants no locks until then.",
            "Wait until it has loaded the data; INFO persistence shows the progress.");
    } else if (f.unusable.starts_with("has the role ")) {
        add(severity::error, "role",
            f.unusable +
                ": writes to another server may reach this one, and one lock may be granted twice.",
            "Use independent servers, without replication in any direction between them "
            "(active-replica no).");
    } else if (f.unusable.starts_with("runs in the mode ")) {
        add(severity::error, "mode",
            f.unusable + ": clients do not use it, because its keys may move.",
            "Name an independent server that runs standalone (redis_mode in INFO server), and no "
            "proxy in front of servers.");
    } else if (!f.unusable.empty() && !f.is_replica() && !is_said_of_commands(f)) {
        // Replicas and missing commands have findings of their own.
        add(severity::error, "unusable", "is not used by clients: " + f.unusable + ".",
            std::string(what_helps_use(f.unusable)));
    }
}

/// The error with which the node answered each command that the doctor tried. Empty: its answers
/// differ.
std::string_view error_of_all(const node_facts& f)
{
    std::string_view error;
    for (const trial& t : f.trials) {
        if (t.is == trial::outcome::untried) {
            continue;
        }
        if (t.error.empty() || (!error.empty() && t.error != error)) {
            return {};
        }
        error = t.error;
    }
    return error;
}

void judge_role(const node_facts& f, pen& add)
{
    if (f.is_replica()) {
        const bool knows = f.info && !f.info->master.empty();
        add(severity::error, "replica",
            "is a replica" + (knows ? " of " + f.info->master : std::string()) +
                ": it grants no locks.",
            "Name an independent server in its place, but not its master if that is a node "
            "already.");
    } else if (f.info && f.info->replicas != 0) {
        add(severity::warning, "replicas",
            (f.info->replicas ? "has " + count_text(*f.info->replicas, "replica")
                              : std::string("gives no number for its replicas")) +
                ": a replica that takes over may lack the newest locks, and two clients then hold "
                "one lock.",
            "Detach them, or make sure that none is promoted while clients hold locks. The restart "
            "guard (--max-ttl) keeps a promoted replica from voting at once.");
    }
}

missing_command config_get(const node_facts& f)
{
    return {"CONFIG GET", "+config|get", f[needed::config_get]};
}

const char* what_a_restart_does(keeps k)
{
    switch (k) {
        case keeps::nothing: return "keeps nothing on disk: a restart forgets all locks.";
        case keeps::nothing_or_snapshots:
            return "has no append-only file: a restart forgets the locks since the last snapshot, "
                   "if it makes any.";
        case keeps::snapshots:
            return "keeps snapshots only: a crash forgets the locks since the last one.";
        case keeps::by_and_by:
            return "leaves it to the system when its file is written (appendfsync no): a power "
                   "loss forgets the locks of about the last half minute.";
        case keeps::all_but_a_second:
            return "writes its file once a second (appendfsync everysec): a power loss forgets "
                   "the locks of the last two seconds.";
        case keeps::all_but_in_rewrites:
            return "does not write through while it rewrites its file (no-appendfsync-on-rewrite "
                   "yes): a power loss at that time forgets locks.";
        case keeps::appended:
        case keeps::not_known:
        case keeps::everything: return "";
    }
    return "";
}

constexpr const char* ways_to_survive =
    "Turn the restart guard on in all clients (--max-ttl; in the library config::restart_guard). "
    "Or start the server again only when the longest ttl has passed. Or let it write through: "
    "appendonly yes, appendfsync always, no-appendfsync-on-rewrite no.";

void judge_persistence(const node_facts& f, const base::settings& s, pen& add)
{
    const std::string_view loss = what_a_restart_does(f.kept);
    if (f.is_durable && !loss.empty()) {
        add(severity::error, "not-durable", "is given as durable, but " + std::string(loss),
            "Remove ?durable=1 from its URL, or let it write through (appendonly yes, appendfsync "
            "always, no-appendfsync-on-rewrite no).")
            .breaks_exclusion = true;
        return;
    }
    if (!loss.empty() && !s.guard) {
        add(severity::warning, "forgets", std::string(loss), ways_to_survive);
    }
    if (f.kept == keeps::appended && (f.is_durable || !s.guard)) {
        const missing_command config = config_get(f);
        const bool is_forbidden = config.went.is == trial::outcome::forbidden;
        add(f.is_durable ? severity::warning : severity::note, "persistence-unknown",
            (config.went.is_missing() ? lack_text(config) + ", and so " : std::string()) +
                "does not say when its append-only file is on the disk.",
            is_forbidden
                ? "Permit it (+config|get) for the doctor to know, or check appendfsync there."
                : "Check appendfsync there.");
    }
}

/// The text about a server that may evict locks.
std::string eviction_text(const server_facts& i)
{
    if (i.eviction.empty()) {
        return "may evict keys, locks among them: it does not give its maxmemory-policy.";
    }
    const std::string policy = " (maxmemory-policy " + i.eviction + ").";
    return (i.max_memory ? "evicts keys, locks among them, when it has used its " +
                               bytes_text(*i.max_memory) + " of memory"
                         : std::string("may evict keys, locks among them: it gives no number for "
                                       "the memory that it may use")) +
           policy;
}

void judge_info(const node_facts& f, const base::settings& s, pen& add)
{
    if (!f.info) {
        return;
    }
    const server_facts& i = *f.info;
    // An unknown limit counts as a limit.
    const bool is_bounded = i.eviction.empty() ? i.max_memory.value_or(0) != 0 : i.max_memory != 0;
    if (is_bounded && i.eviction != "noeviction") {
        // With the restart guard, clients don't use such a node.
        const bool is_used = !s.guard || f.is_durable;
        add(severity::error, "evicts", eviction_text(i), "Set maxmemory-policy noeviction.")
            .breaks_exclusion = is_used;
    }
    const std::uint64_t bound = i.max_memory.value_or(0);
    if (bound != 0 && i.used_memory >= bound / 10 * 9) {
        add(severity::warning, "memory",
            "uses " + bytes_text(i.used_memory) + " of the " + bytes_text(bound) +
                " of memory that it may use: it will refuse locks when that is full.",
            "Give it more memory (maxmemory), or move other data elsewhere.");
    }
    if (!i.failed_write.empty()) {
        const bool is_known = i.failed_write.ends_with(":err");
        add(severity::warning, "disk",
            is_known
                ? "failed to write its file the last time (" + i.failed_write + ")."
                : "may have failed to write its file the last time: the doctor does not know " +
                      i.failed_write + " in its INFO.",
            "Check its log and the room on its disk.");
    }
    if (!i.loading.empty() && !is_loading(f)) {
        add(severity::warning, "loading",
            "may load its data into memory: the doctor does not know loading:" + i.loading +
                " in its INFO.",
            "Check its log. Clients use it unless it answers with LOADING.");
    }
}

void judge_guard(const node_facts& f, const base::settings& s, pen& add)
{
    if (f.admitted == admittance::other_configuration) {
        add(severity::error, "guard",
            "is admitted for clients with another restart guard" +
                (f.disagreement.empty() ? std::string() : ", " + f.disagreement) +
                ", and this configuration has " +
                guard_text(s.nodes.size(), s.guard->max_ttl, s.drift_ppb) +
                ": its clients do not use this node.",
            "Give all clients the same --max-ttl, --drift and nodes. To change them, stop the "
            "clients and delete the marker " +
                base::printable(s.key_prefix) + std::string(base::marker_resource) +
                " on every node.");
    } else if (f.admitted == admittance::not_admitted) {
        add(severity::warning, "not-admitted",
            "is not admitted by the restart guard yet: it is new, or has lost its keys.",
            "Wait: running clients admit it " + span_text(s.guard->quarantine) +
                " after the first of them has seen it. If the nodes are new and never granted a "
                "lock, you can admit them at once: redlock admit.");
    } else if (f.guard_of_others) {
        const std::string& theirs = *f.guard_of_others;
        add(severity::warning, "unguarded",
            "is admitted by clients with a restart guard" +
                (theirs.empty() ? std::string() : ", " + theirs) +
                ", and this configuration has none: its clients count a vote although the node may "
                "have lost locks, and two clients then hold one lock.",
            "Turn the guard on in all clients, with one --max-ttl (in the library "
            "config::restart_guard). If no client has it any more, delete the marker " +
                base::printable(s.key_prefix) + std::string(base::marker_resource) +
                " on every node.");
    }
}

void judge_tls_trust(const node_facts& f, const base::settings& s, pen& add)
{
    if (f.has_tls && s.tls.insecure_skip_verification) {
        add(severity::warning, "unverified",
            "may be any server: clients do not verify its certificate.",
            "Leave out --insecure; name an authority of your own with --ca-file.");
    }
}

void judge_answers(const node_facts& f, pen& add)
{
    const missing_command info{"INFO", "+info", f[needed::info]};
    if (info.went.is_missing()) {
        add(severity::note, "no-info",
            lack_text(info) + ": its replicas, persistence and memory are not known.",
            info.went.is == trial::outcome::forbidden
                ? "Permit it (+info); it also shows two names of one server."
                : lack_advice(info));
    }
    const missing_command config = config_get(f);
    if (config.went.is_missing() && f.info && f.kept == keeps::nothing_or_snapshots) {
        add(severity::note, "no-config",
            lack_text(config) + ": the doctor does not know whether it makes snapshots.",
            config.went.is == trial::outcome::forbidden
                ? "Permit it (+config|get) for the doctor to know; clients do not need it."
                : "Check there whether it makes snapshots (save in its configuration); clients do "
                  "not need CONFIG.");
    }
}

}  // namespace

void judge_node(const node_facts& f, const base::settings& s, std::vector<finding>& out)
{
    pen add(f, out);
    judge_contact(f, add);
    judge_use(f, add);
    judge_tls_trust(f, s, add);
    if (f.reached == contact::none || f.login_refused || f.mode == "sentinel" ||
        answers_senselessly(f.unusable)) {
        return;
    }
    if (const auto error = error_of_all(f); is_said_of_commands(f) && !error.empty()) {
        add(severity::error, "refuses-all",
            "answers every command with the same error: " + std::string(error) + ".",
            "Name the server itself, or correct what is in front of it: a proxy may have no server "
            "to forward to.");
        return;
    }
    judge_role(f, add);
    judge_answers(f, add);
    judge_measures(f, s, out);
    // A replica or a cluster node must become an independent server before the other findings
    // matter.
    if (f.mode != "cluster" && !f.is_replica()) {
        judge_info(f, s, add);
        judge_persistence(f, s, add);
        judge_guard(f, s, add);
        judge_permissions(f, s, out);
        judge_queue(f, s, out);
    }
}

void judge_measures(const node_facts& f, const base::settings& s, std::vector<finding>& out)
{
    pen add(f, out);
    const latency_facts& l = f.latency;
    const std::string took = "answers within " + span_text(l.median) + " (99 % within " +
                             span_text(l.p99) + "), and --node-timeout is " +
                             span_text(s.node_timeout);
    if (l.samples != 0 && l.median >= s.node_timeout) {
        add(severity::error, "slow", took + ": most of its answers come too late to count.",
            "Set --node-timeout to several times that, and each --ttl to four times "
            "--node-timeout at least; or bring node and clients closer together.");
    } else if (l.samples != 0 && l.p99 >= s.node_timeout) {
        add(severity::warning, "slow", took + ": some of its answers come too late to count.",
            "Find out what delays it (SLOWLOG, forks, swapping), or set a longer --node-timeout.");
    } else if (l.samples != 0 && 2 * l.p99 >= s.node_timeout) {
        add(severity::note, "slow", took + ": there is little to spare.",
            "Consider a longer --node-timeout.");
    }
    if (!f.clock || !f.clock->rate) {
        return;
    }
    const double rate = *f.clock->rate;
    const double unsure = f.clock->rate_precision;
    const double allowed = static_cast<double>(s.drift_ppb) / 1e9;
    const std::string differs = share_text(std::abs(rate)) + " on this machine's (within " +
                                share_text(unsure) + "), and --drift allows " +
                                share_text(allowed) + ": ";
    if (rate - unsure > allowed) {
        add(severity::error, "clock-rate",
            "has a clock that gains " + differs + "locks end there before clients here expect it.",
            "Find out which clock is wrong, and whether something set it just now: do not set "
            "dates forward on nodes while clients hold locks.")
            .breaks_exclusion = true;
    } else if (-rate - unsure > allowed) {
        add(severity::warning, "clock-rate",
            "has a clock that loses " + differs +
                "locks that are not released last longer there than they should.",
            "Find out which clock is wrong, and whether something set it just now.");
    } else if (unsure > allowed) {
        add(severity::note, "clock-rate-unknown",
            "was not watched for long enough to know the rate of its clock to within the " +
                share_text(allowed) + " of --drift: it is known to within " + share_text(unsure) +
                ".",
            "Watch it for longer (--watch 10s).");
    }
}

}  // namespace redlock::cli
