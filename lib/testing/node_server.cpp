#include "testing/node_server.hpp"

#include "testing/wire.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <iterator>
#include <stdexcept>
#include <utility>

#include <unistd.h>

namespace redlock::testing {

namespace asio = boost::asio;
using base::instant;
using boost::system::error_code;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

steady_clock::time_point on_clock(instant at)
{
    return steady_clock::time_point{
        std::chrono::ceil<steady_clock::duration>(at.time_since_epoch())};
}

/// The difference between this machine's date and the model's date.
base::nanos date_offset(instant at)
{
    using std::chrono::microseconds;
    const auto today = std::chrono::duration_cast<microseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    return today - microseconds{date_of(at)};
}

/// A new run id, by which the client distinguishes servers. It has 40 digits. No other node has it,
/// and this node didn't have it before a restart.
std::string fresh_run_id()
{
    static std::atomic<std::uint64_t> count{0};
    std::string id(40, '0');
    const std::string last =
        std::to_string(::getpid()) + "0" + std::to_string(1'000'000'000 + count.fetch_add(1));
    id.replace(id.size() - last.size(), last.size(), last);
    return id;
}

}  // namespace

node_server::node_server(const asio::any_io_executor& executor)
    : door_(executor),
      next_try_(executor),
      ends_(executor)
{
    master_.run_id = fresh_run_id();
    master_.watched_by = this;
}

instant node_server::now()
{
    return instant{steady_clock::now().time_since_epoch()};
}

instant node_server::now_and(milliseconds span)
{
    const instant begin = now();
    const bool is_countable = span < std::chrono::floor<milliseconds>(instant::max() - begin);
    return is_countable ? begin + span : instant::max();
}

// Operations of the test.

void node_server::write(const std::string& key, milliseconds ttl)
{
    if (ttl <= milliseconds::zero()) {
        throw std::invalid_argument("scripted_node::hold: the ttl is not positive");
    }
    // The value has the form of an owner token, so that an inspection of the lock shows an owner.
    static const std::string stranger(40, 'f');
    const guard here(mutex_);
    master_.write(key, {stranger, now_and(ttl), false});
    send_all();
    look_at_ends();
}

bool node_server::has(const std::string& key) const
{
    const guard here(mutex_);
    return master_.find(now(), key) != nullptr;
}

void node_server::lose(const std::string& key)
{
    const guard here(mutex_);
    master_.lose(key);
    send_all();
}

void node_server::answer(std::string_view command, scripted_node::reply with, std::size_t times)
{
    std::string name = known_name(command);
    const guard here(mutex_);
    if (times == 0) {
        return;
    }
    std::erase_if(scripted_, [&](const scripted& s) {
        return s.times == scripted_node::always && s.command == name;
    });
    scripted_.push_back({std::move(name), std::move(with), times});
}

void node_server::freeze()
{
    const guard here(mutex_);
    is_frozen_ = true;
}

void node_server::thaw()
{
    const guard here(mutex_);
    is_frozen_ = false;
    work_on_all();
}

void node_server::delay(milliseconds span)
{
    if (span < milliseconds::zero()) {
        throw std::invalid_argument("scripted_node::delay: the span is negative");
    }
    const guard here(mutex_);
    delay_ = span;
}

void node_server::set_out_of_memory(bool on)
{
    const guard here(mutex_);
    master_.is_full = on;
}

void node_server::disconnect()
{
    const guard here(mutex_);
    cut_all();
}

void node_server::refuse()
{
    const guard here(mutex_);
    shut();
}

void node_server::accept()
{
    const guard here(mutex_);
    open();
}

void node_server::restart(scripted_node::keys left)
{
    const guard here(mutex_);
    cut_all();
    master_.flush_scripts();
    master_.run_id = fresh_run_id();
    switch (left) {
        case scripted_node::keys::kept: break;
        case scripted_node::keys::lost: master_.flush_keys(); break;
    }
}

void node_server::recover()
{
    const guard here(mutex_);
    // Opening the port comes first because it may fail.
    open();
    scripted_.clear();
    master_.is_full = false;
    delay_ = {};
    is_frozen_ = false;
    for (const connection_ptr& c : connections_) {
        for (connection::pending& p : c->to_do) {
            p.due = {};
        }
    }
    work_on_all();
}

void node_server::close() noexcept
{
    const guard here(mutex_);
    shut();
    cut_all();
    ends_.cancel();
}

std::vector<std::string> node_server::commands() const
{
    const guard here(mutex_);
    std::vector<std::string> lines;
    lines.reserve(seen_.size());
    std::ranges::transform(seen_, std::back_inserter(lines), &told::line);
    return lines;
}

void node_server::clear_commands()
{
    const guard here(mutex_);
    seen_.clear();
    seen_.shrink_to_fit();
}

std::size_t node_server::count(std::string_view command) const
{
    const std::string name = known_name(command);
    const guard here(mutex_);
    return static_cast<std::size_t>(
        std::ranges::count_if(seen_, [&](const told& one) { return one.is_called(name); }));
}

std::size_t node_server::count(std::string_view command, const std::string& key) const
{
    const std::string name = known_name(command);
    const guard here(mutex_);
    return static_cast<std::size_t>(std::ranges::count_if(seen_, [&](const told& one) {
        return one.is_called(name) && std::ranges::find(one.keys, key) != one.keys.end();
    }));
}

std::size_t node_server::connections() const
{
    const guard here(mutex_);
    return connections_.size();
}

// Commands.

void node_server::work(const connection_ptr& c)
{
    while (!is_frozen_ && !c->to_do.empty()) {
        if (c->to_do.front().due > now()) {
            work_later(c, c->to_do.front().due);
            break;
        }
        const words command = std::move(c->to_do.front().command);
        c->to_do.pop_front();
        if (const auto reply = reply_to(command, c->state)) {
            c->state.out += *reply;
        } else {
            take_no_more(*c);
        }
    }
    send_all();
    look_at_ends();
    end_if_over(c);
}

void node_server::work_on_all()
{
    for (const connection_ptr& c : std::vector(connections_)) {
        work(c);
    }
}

void node_server::work_later(const connection_ptr& c, instant at)
{
    c->timer.expires_at(on_clock(at));
    c->timer.async_wait([self = shared_from_this(), c](error_code ec) {
        const guard here(self->mutex_);
        if (!ec && !c->is_cut) {
            self->work(c);
        }
    });
}

/// The reply to a command. Empty if the command or its reply is lost.
std::optional<std::string> node_server::reply_to(const words& command, session& s)
{
    using kind = scripted_node::reply::kind;
    const auto wanted = scripted_reply(command);
    if (!wanted) {
        return done(command, s);
    }
    switch (wanted->kind_) {
        case kind::bytes: s.begin(command.front()); return wanted->bytes_;
        case kind::null: s.begin(command.front()); return wire::null(s.protocol);
        case kind::command_lost: return std::nullopt;
        case kind::reply_lost: (void)done(command, s); return std::nullopt;
    }
    return std::nullopt;
}

std::string node_server::done(const words& command, session& s)
{
    const instant at = now();
    master_.date_offset = date_offset(at);
    try {
        return master_.execute(at, s, command);
    } catch (const std::exception&) {
        return wire::error("ERR a node for tests does not know this");
    }
}

std::optional<scripted_node::reply> node_server::scripted_reply(const words& command)
{
    if (scripted_.empty()) {
        return std::nullopt;
    }
    const told asked = tell(command);
    const auto at = std::ranges::find_if(
        scripted_, [&](const scripted& one) { return asked.is_called(one.command); });
    if (at == scripted_.end()) {
        return std::nullopt;
    }
    scripted_node::reply with = at->with;
    if (at->times == 1) {
        scripted_.erase(at);
    } else if (at->times != scripted_node::always) {
        --at->times;
    }
    return with;
}

// Expiry of keys.

void node_server::on_change(const std::string& /*key*/, const model_master::entry* /*before*/,
                            const model_master::entry* after, const session* /*by*/)
{
    if (after != nullptr && after->end && (!first_end_ || *after->end < *first_end_)) {
        first_end_ = after->end;
    }
}

/// Arms the timer for the first key that expires, so that clients that wait for the key get a push.
void node_server::look_at_ends()
{
    if (!first_end_ || (ringing_at_ && *ringing_at_ <= *first_end_)) {
        return;
    }
    ringing_at_ = first_end_;
    ends_.expires_at(on_clock(*first_end_));
    ends_.async_wait([self = shared_from_this()](error_code ec) {
        const guard here(self->mutex_);
        if (!ec) {
            self->on_end();
        }
    });
}

void node_server::on_end()
{
    ringing_at_.reset();
    first_end_.reset();
    master_.expire(now());
    for (const auto& [key, e] : master_.all()) {
        if (e.end && (!first_end_ || *e.end < *first_end_)) {
            first_end_ = e.end;
        }
    }
    send_all();
    look_at_ends();
}

}  // namespace redlock::testing
