#pragma once

#include "base/instant.hpp"
#include "core/lease.hpp"
#include "core/node/command.hpp"
#include "core/node/command_table.hpp"
#include "core/node/fifo.hpp"
#include "core/node/output.hpp"
#include "core/node/state.hpp"
#include "core/node/words.hpp"
#include "core/round.hpp"
#include "resp/reader.hpp"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace redlock::core {

/// How a scripted command was answered. `again` and `no_room`: not executed, and to be sent in
/// another form, for which there is room or not.
enum class script_result : std::uint8_t { yes, no, again, no_room, error, nonsense };

/**
 * The commands that a node was sent and has not answered, in the order in which they were sent, and
 * the bytes to write. Chooses the form in which scripts are sent: a server or a proxy may refuse
 * one form and accept another.
 */
class requests {
public:
    requests(node_state& node, const wording& words) noexcept
        : node_(node),
          words_(words),
          fifo_(node.shared.fifo_blocks),
          out_(node.shared.blocks)
    {}

    // The connection.
    void on_ready() noexcept;
    void on_lost() noexcept { is_stalled_ = false; }

    // Whether to send.
    [[nodiscard]] bool has_room() const noexcept
    {
        return out_.size() < node_.shared.settings.max_buffered_bytes;
    }
    /// Whether a command can be sent that the caller would rather send now than later: one reply
    /// must come, after which the rest is sent.
    [[nodiscard]] bool has_room_or_is_idle() const noexcept { return has_room() || empty(); }
    [[nodiscard]] bool is_stalled() const noexcept { return is_stalled_; }
    /// A round has ended without the node's answer: it gets no new requests until it has caught up,
    /// unless it was asked so late that it need not have answered yet.
    void mark_stalled() noexcept { is_stalled_ = !has_caught_up(); }

    // Sending.
    /// Throws `std::bad_alloc`; then nothing was sent.
    void send(const command_row& row, command_subject subject);
    /// `f`: the form of scripts. `same`: copies the words for another node if they are the same,
    /// and keeps these.
    inline void send(const command_row& row, command_subject subject, form f,
                     encoded_row* same = nullptr);
    /// `append(out, w)` appends the words, which depend on `w`, to the string `out`.
    template <class Append>
    inline void send_words(const command_row& row, command_subject subject, form f, Append append);
    /// For a command that the node refused in the form it was sent in.
    void send_again(const pending& p);
    /// The label of a lock that the client has, or its end. Where it cannot be sent, or the node
    /// refuses it, there is no label. May throw `std::bad_alloc` after some of several resources.
    void store_label(const lease& l);
    void drop_label(const lease& l);
    /// Steps of the handshake, whose words are in `out` already.
    void expect_handshake(unsigned replies);
    /// Appends the words of commands, and sends nothing.
    void append(std::string& out, const command_row& row, command_subject subject, form f) const;

    [[nodiscard]] const wording& words() const noexcept { return words_; }

    // The form of scripts.
    [[nodiscard]] form script_form() const noexcept;
    [[nodiscard]] form release_form(const lease& l) const noexcept;
    void note_label_script(bool is_known) noexcept { knows_label_script_ = is_known; }
    [[nodiscard]] bool refuses_increment() const noexcept { return refuses_increment_; }
    void note_refused_increment() noexcept { refuses_increment_ = true; }
    /// Whether the node refuses the form of the command rather than what the command does. If so,
    /// the client uses another form until the next connection.
    bool note_refused_form(const pending& p, const resp::reply& r) noexcept;

    /// What the reply to a scripted command says. If the node refuses its form, the client uses
    /// another one from then on.
    [[nodiscard]] script_result take_script_reply(const pending& p, const resp::reply& r) noexcept;

    // What has no answer.
    [[nodiscard]] bool empty() const noexcept { return fifo_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return fifo_.size(); }
    [[nodiscard]] const pending& oldest() const noexcept { return fifo_.front(); }
    [[nodiscard]] std::size_t unanswered_releases() const noexcept { return releases_; }
    /// Removes the oldest. The caller passes it to `let_go` in the end.
    pending take_oldest() noexcept { return fifo_.pop(); }
    void let_go(const pending& p) noexcept;
    /// A reply has come.
    void note_reply() noexcept { is_stalled_ = is_stalled_ && !has_caught_up(); }

    [[nodiscard]] output& out() noexcept { return out_; }
    [[nodiscard]] const output& out() const noexcept { return out_; }

private:
    [[nodiscard]] bool has_caught_up() const noexcept;
    inline void expect(const command_row& row, command_subject subject, form f) noexcept;

    node_state& node_;
    const wording words_;
    fifo<pending> fifo_;
    output out_;
    std::size_t releases_ = 0;
    bool is_stalled_ = false;
    /// The node has its own compare-and-delete, but does not let us use it.
    bool refuses_native_ = false;
    bool refuses_digests_ = false;
    /// INCR outside of scripts, so the count script increments.
    bool refuses_increment_ = false;
    /// The node has run it on this connection.
    bool knows_label_script_ = false;
};

inline void requests::expect(const command_row& row, command_subject subject, form f) noexcept
{
    using kind = command_subject::kind;
    node_context& shared = node_.shared;
    const base::instant now = shared.now;
    for (const command what : row) {
        const command_traits& traits = traits_of(what);
        assert(traits.subject == kind::none || traits.subject == subject.what);
        fifo_.push({subject.at, now, what, f});
        switch (traits.subject) {
            case kind::round: ++static_cast<round*>(subject.at)->references; break;
            case kind::lease: ++static_cast<lease*>(subject.at)->references; break;
            case kind::none:
            case kind::pending_release: break;
        }
        releases_ += traits.is_for == command_traits::purpose::release ? 1U : 0U;
    }
    if (node_.is_ready()) {
        // Too early for those behind the first, and looked at again then.
        node_.wake_by(now + shared.settings.stall_timeout);
    }
    shared.written |= bit(node_.index);
    shared.stats.commands += row.size();
}

template <class Append>
[[gnu::always_inline]] inline void requests::send_words(const command_row& row,
                                                        command_subject subject, form f,
                                                        Append append)
{
    fifo_.reserve(row.size());
    out_.make_room();
    std::string& out = out_.last();
    const std::size_t before = out.size();
    try {
        append(out, words_);
    } catch (...) {
        out.resize(before);
        throw;
    }
    expect(row, subject, f);
}

[[gnu::always_inline]] inline void requests::send(const command_row& row, command_subject subject,
                                                  form f, encoded_row* same)
{
    send_words(row, subject, f, [&](std::string& out, const wording&) {
        if (same == nullptr) {
            append(out, row, subject, f);
        } else if (same->sent_as == f && same->commands == row) {
            out.append(same->bytes);
        } else {
            const std::size_t before = out.size();
            append(out, row, subject, f);
            *same = {std::string_view(out).substr(before), row, f};
        }
    });
}

}  // namespace redlock::core
