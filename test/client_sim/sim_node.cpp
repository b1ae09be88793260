#include "client_sim/sim_node.hpp"

#include "resp/scripts.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

namespace redlock::test {

namespace {

using boost::system::error_code;
namespace error = boost::asio::error;

std::uint64_t digest_of(std::string_view bytes)
{
    std::uint64_t h = 0xcbf29ce484222325u;
    for (const char c : bytes) {
        h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    }
    return h;
}

/// None of these replies confirms a command.
constexpr std::array<std::string_view, 8> nonsense{
    "*1\r\n*1\r\n:1\r\n",    "+WHAT\r\n", ":7\r\n",   "-ERR of the test\r\n",
    "-BUSY of the test\r\n", "%x\r\n",    "\r\n\r\n", "-TRYAGAIN of the test\r\n"};

/// Whether the command would set free keys.
bool is_attempt(const words& command)
{
    return command.front() == "SET" ||
           (command.size() > 1 &&
            (command[1] == resp::take_script.sha1 || command[1] == resp::take_script.text));
}

}  // namespace

void sim_node::heal()
{
    dial = dialling::at_once;
    latency = std::chrono::milliseconds{2};
    talks_nonsense = hangs_up = blocks = fails_writes = 0;
    master.refusals.clear();
    frozen_ = false;
    const auto wires = std::exchange(wires_, {});
    for (const auto& weak : wires) {
        if (const auto w = weak.lock()) {
            wires_.push_back(w);
            w->unblock();
            w->serve();
        }
    }
    look_for_ends();
}

void sim_node::on_change(const std::string& /*key*/, const model_master::entry* /*before*/,
                         const model_master::entry* after, const session* /*by*/)
{
    if (after != nullptr && after->end) {
        expect_end(*after->end);
    }
}

/// Within a tenth of a second like servers, now and then much later.
void sim_node::expect_end(base::instant end)
{
    if (end >= next_end_) {
        return;
    }
    next_end_ = end;
    const auto lag = clock_.some_time(std::chrono::milliseconds{clock_.one_in(8) ? 1000 : 100});
    clock_.at(end - clock_.now() + lag, [this, end] {
        if (next_end_ == end) {
            look_for_ends();
        }
    });
}

/// A frozen node does this when it goes on.
void sim_node::look_for_ends()
{
    if (frozen_) {
        return;
    }
    const bool has_told = std::exchange(master.has_told, false);
    master.expire(clock_.now());
    ends_told += master.has_told ? 1 : 0;
    master.has_told = master.has_told || has_told;
    tell();
    base::instant first = next_end_ = base::instant::max();
    for (const auto& [key, e] : master.all()) {
        first = std::min(first, e.end.value_or(first));
    }
    expect_end(first);
}

void sim_node::tell()
{
    if (std::exchange(master.has_told, false)) {
        for (const auto& weak : wires_) {
            if (const auto w = weak.lock()) {
                w->push();
            }
        }
    }
}

wire::~wire()
{
    if (!node_alive_.expired()) {
        node_.master.forget(session_);
    }
}

void wire::push()
{
    if (!closed_there_ && !session_.out.empty()) {
        answer(std::exchange(session_.out, {}));
    }
}

void wire::complete(std::uint64_t& id, error_code ec, std::size_t n)
{
    if (id != 0 && !context_alive_.expired()) {
        context_.complete(std::exchange(id, 0), ec, n);
    }
}

void wire::complete_later(std::uint64_t& id, base::nanos after, error_code ec, std::size_t n)
{
    if (after == base::nanos{}) {
        complete(id, ec, n);
        return;
    }
    clock_.at(after, [me = shared_from_this(), &id, which = id, ec, n] {
        if (id == which) {
            me->complete(id, ec, n);
        }
    });
}

/// Bytes never overtake earlier ones.
base::nanos wire::next_arrival(base::instant& last)
{
    last = std::max(last, clock_.now() + clock_.some_time(node_.latency));
    return last - clock_.now();
}

void wire::connect(std::uint64_t id)
{
    connecting_ = id;
    const auto after = clock_.some_time(node_.latency);
    switch (node_.dial) {
        case sim_node::dialling::hanging: return;
        case sim_node::dialling::refused:
            complete_later(connecting_, after, error::connection_refused);
            return;
        case sim_node::dialling::at_once: break;
    }
    clock_.at(after, [me = shared_from_this()] {
        if (me->connecting_ != 0) {
            me->open_ = true;
            me->node_.wires_.push_back(me);
            me->complete(me->connecting_, {});
        }
    });
}

/// With TLS the same text gives other bytes each time.
std::uint64_t wire::digest(std::string_view bytes) const
{
    return tls_ ? 0 : digest_of(bytes);
}

void wire::read(std::uint64_t id, char* into, std::size_t size)
{
    if (size == 0) {
        // Completes at once, even before pending reads. TLS uses this to have its handler called
        // later.
        context_.complete(id, closed_here_ ? error_code(error::bad_descriptor) : error_code());
        return;
    }
    reading_ = id;
    into_ = into;
    room_ = size;
    give();
}

/// Gives received bytes to the reader, in pieces.
void wire::give()
{
    if (reading_ == 0) {
        return;
    }
    if (closed_here_) {
        complete(reading_, error::bad_descriptor);
    } else if (!incoming_.empty()) {
        std::size_t n = std::min(room_, incoming_.size());
        if (clock_.one_in(4)) {
            n = 1 + clock_.below(static_cast<std::uint32_t>(n));
        }
        std::memcpy(into_, incoming_.data(), n);
        clock_.note("read", n, digest({into_, n}));
        incoming_.erase(0, n);
        complete(reading_, {}, n);
    } else if (reads_no_more_) {
        complete(reading_, error::eof);
    } else if (closed_there_) {
        const bool reset = clock_.one_in(2);
        complete(reading_, reset ? error_code(error::connection_reset) : error_code(error::eof));
    }
}

void wire::write(std::uint64_t id, std::string_view bytes)
{
    writing_ = id;
    if (closed_here_ || closed_there_) {
        complete(writing_, closed_here_ ? error::bad_descriptor : error::broken_pipe);
        return;
    }
    if (node_.fails_writes != 0 && clock_.one_in(node_.fails_writes)) {
        complete(writing_, error::no_buffer_space);
        return;
    }
    std::size_t n = bytes.size();
    if (clock_.one_in(4)) {
        n = 1 + clock_.below(static_cast<std::uint32_t>(n));
    }
    clock_.note("write", n, digest(bytes.substr(0, n)));
    clock_.at(next_arrival(last_there_),
              [me = shared_from_this(), b = std::string(bytes.substr(0, n))] { me->arrive(b); });
    if (node_.blocks != 0 && clock_.one_in(node_.blocks)) {
        blocked_ = n;
        return;
    }
    complete_later(writing_, clock_.some_time(std::chrono::milliseconds{clock_.below(20)}), {}, n);
}

/// The reader meets the end after the received bytes.
void wire::stop_reading()
{
    reads_no_more_ = true;
    give();
}

/// As with a socket, completed operations stay completed, and accepted bytes go out, unless an
/// unread answer loses them.
void wire::close()
{
    if (closed_here_) {
        return;
    }
    closed_here_ = true;
    complete(connecting_, error::operation_aborted);
    complete(reading_, error::operation_aborted);
    blocked_ = 0;
    complete(writing_, error::operation_aborted);
    closed_there_ = closed_there_ || clock_.one_in(4);
}

void wire::hang_up()
{
    closed_there_ = true;
    asked_.clear();
    encrypted_.clear();
    if (blocked_ == 0 || clock_.one_in(2)) {
        complete(writing_, error::connection_reset);
    }
    give();
}

void wire::unblock()
{
    if (blocked_ != 0) {
        complete(writing_, {}, std::exchange(blocked_, 0));
    }
}

void wire::arrive(std::string bytes)
{
    if (!closed_there_) {
        (tls_ ? encrypted_ : asked_) += bytes;
        serve();
    }
}

bool wire::decrypt()
{
    const bool is_tls = tls_->take(std::exchange(encrypted_, {}), asked_);
    send(tls_->take_output());
    return is_tls;
}

/// A nonsense reply leaves open whether the node executed its command. An error for an attempt
/// means that the node set nothing, which servers guarantee.
std::string wire::reply_to(const words& command)
{
    was_greeted_ = was_greeted_ || command.front() == "SET";
    std::optional<std::string> instead;
    if ((was_greeted_ || !node_.greets_well) && node_.talks_nonsense != 0 &&
        clock_.one_in(node_.talks_nonsense)) {
        clock_.note("nonsense instead of " + command.front());
        instead = nonsense[clock_.below(nonsense.size())];
    }
    const bool denies = instead && instead->front() == '-' && is_attempt(command);
    std::string reply;
    if (!denies && !(instead && clock_.one_in(4))) {
        reply = node_.master.execute(clock_.now(), session_, command);
    }
    clock_.note("served", digest_of(command.front()), digest_of(reply));
    return std::move(instead).value_or(std::move(reply));
}

/// Executes all received commands and writes the replies at once, as servers do.
void wire::serve()
{
    std::string replies;
    while (!node_.frozen_ && !closed_there_) {
        if (!encrypted_.empty() && !decrypt()) {
            clock_.fail("a client does not speak TLS");
            return;
        }
        std::string_view rest = asked_;
        const auto command = take_command(rest);
        if (!command) {
            break;
        }
        asked_.erase(0, asked_.size() - rest.size());
        std::string reply = reply_to(*command);
        if (node_.hangs_up != 0 && clock_.one_in(node_.hangs_up)) {
            answer(replies);
            hang_up();
            return;
        }
        replies += std::exchange(session_.out, {}) + reply;
        node_.tell();
    }
    answer(replies);
}

void wire::answer(const std::string& reply)
{
    if (reply.empty()) {
        return;
    }
    if (!tls_) {
        send(reply);
    } else if (tls_->say(reply)) {
        send(tls_->take_output());
    } else {
        clock_.fail("TLS fails a master");
    }
}

void wire::send(const std::string& bytes)
{
    if (bytes.empty()) {
        return;
    }
    const std::size_t cut =
        clock_.one_in(4) ? clock_.below(static_cast<std::uint32_t>(bytes.size())) : 0;
    for (std::string piece : {bytes.substr(0, cut), bytes.substr(cut)}) {
        clock_.at(next_arrival(last_back_), [me = shared_from_this(), p = std::move(piece)] {
            me->incoming_ += p;
            me->give();
        });
    }
}

}  // namespace redlock::test
