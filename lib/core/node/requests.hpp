#pragma once

#include "base/instant.hpp"
#include "core/lease.hpp"
#include "core/node/command.hpp"
#include "core/node/command_table.hpp"
#include "core/node/fifo.hpp"
#include "core/node/open_batches.hpp"
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

/// The answer to a scripted command. `again`: the node did not execute it, and it can be sent in
/// another form. `no_room`: the same, but there is no room to send it.
enum class script_result : std::uint8_t { yes, no, again, no_room, error, nonsense };

/**
 * The commands that a node has not answered, in the order in which they were sent, and the bytes to
 * write to it. Chooses the form of scripts: a server or a proxy may refuse one form and accept
 * another.
 */
class requests {
public:
    requests(node_state& node, const wording& words) noexcept
        : node_(node),
          words_(words),
          fifo_(node.shared.fifo_blocks),
          batches_(node.shared.batches),
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
    /// Whether the next of several waiting commands can be sent. An idle node gets one even without
    /// room, because the rest is sent after a reply.
    [[nodiscard]] bool has_room_or_is_idle() const noexcept
    {
        return has_room() || (empty() && batches_.empty());
    }
    [[nodiscard]] bool is_stalled() const noexcept { return is_stalled_; }
    /// A round has ended without the node's answer. The node gets no new requests until none of its
    /// unanswered commands is older than `node_timeout`.
    void mark_stalled() noexcept { is_stalled_ = !has_caught_up(); }

    // Sending.
    /// May throw `std::bad_alloc`; nothing was sent then.
    void send(const command_row& row, command_subject subject);
    /// `f`: the form of scripts. `same`: the words of an earlier row, which are copied if they fit
    /// and replaced if not.
    inline void send(const command_row& row, command_subject subject, form f,
                     encoded_row* same = nullptr);
    /// `append(out, w)` appends the words, which depend on `w`, to the string `out`.
    template <class Append>
    inline void send_words(const command_row& row, command_subject subject, form f, Append append);
    /// Sends the release of a lock: in a batch at the end of the turn, if the node deletes by a
    /// script.
    void send_release(command what, command_subject subject, lease& l, encoded_row* same = nullptr);
    /// The same for an extend, which is the only command of its row.
    void send_extend(round& r);
    /// The turn ends: sends the batches. `same`: the words for an earlier node, which are copied if
    /// they fit and replaced if not. May throw `std::bad_alloc`; the rest was not sent then.
    void send_batches(encoded_batches& same);
    /// Sends a command again that the node refused in its last form.
    void send_again(const pending& p);
    /// Store and delete the label of a lock. If a label cannot be sent, or the node refuses it,
    /// there is none. May throw `std::bad_alloc`, also after some of several resources.
    void store_label(const lease& l);
    void drop_label(const lease& l);
    /// Expects the replies to steps of the handshake, whose words are in `out` already.
    void expect_handshake(unsigned replies);
    /// Appends the words of commands to `out`, and sends nothing.
    void append(std::string& out, const command_row& row, command_subject subject, form f) const;

    [[nodiscard]] const wording& words() const noexcept { return words_; }

    // The form of scripts.
    [[nodiscard]] form script_form() const noexcept;
    [[nodiscard]] form release_form(const lease& l) const noexcept;
    void note_unknown_batch_script(command batch) noexcept { knows_script_of(batch) = false; }
    /// The node can't run the scripts for several locks.
    [[nodiscard]] bool refuses_batches() const noexcept { return refuses_batches_; }
    void note_refused_batch() noexcept { refuses_batches_ = true; }
    void note_label_script(bool is_known) noexcept { knows_label_script_ = is_known; }
    [[nodiscard]] bool refuses_increment() const noexcept { return refuses_increment_; }
    void note_refused_increment() noexcept { refuses_increment_ = true; }
    /// Whether the node refuses the form of the command rather than what the command does. If so,
    /// the client uses another form until the next connection.
    bool note_refused_form(const pending& p, const resp::reply& r) noexcept;

    /// Reads the reply to a scripted command. If the node refuses its form, the client uses another
    /// one from then on.
    [[nodiscard]] script_result take_script_reply(const pending& p, const resp::reply& r) noexcept;

    // Commands without an answer.
    [[nodiscard]] bool empty() const noexcept { return fifo_.empty(); }
    /// Their number. Each command of a batch counts, also if the batch is still open.
    [[nodiscard]] std::size_t size() const noexcept { return fifo_.size() + further_in_batches_; }
    [[nodiscard]] const pending& oldest() const noexcept { return fifo_.front(); }
    [[nodiscard]] std::size_t unanswered_releases() const noexcept { return releases_; }
    /// Removes the oldest command. The caller passes it to `drop_subject` in the end.
    pending take_oldest() noexcept { return fifo_.pop(); }
    /// The connection is lost: takes the oldest command, and in the end the batches that were not
    /// sent. False: there is none left.
    [[nodiscard]] bool take_lost(pending& p) noexcept;
    void drop_subject(const pending& p) noexcept;
    /// A reply has come.
    void note_reply() noexcept { is_stalled_ = is_stalled_ && !has_caught_up(); }

    [[nodiscard]] output& out() noexcept { return out_; }
    [[nodiscard]] const output& out() const noexcept { return out_; }

private:
    [[nodiscard]] bool has_caught_up() const noexcept;
    [[nodiscard]] bool may_follow_a_batch(command_subject subject) const noexcept;
    [[nodiscard]] bool can_batch(const lease& l) const noexcept;
    void add_to_batch(command kind, command what, command_subject subject, const lease& l);
    void send_batches_early();
    void send_batch(command kind, encoded_batch& same);
    [[nodiscard]] bool& knows_script_of(command batch) noexcept
    {
        return batch == command::release_batch ? knows_release_batch_ : knows_extend_batch_;
    }
    inline void count_reference(command what, command_subject subject) noexcept;
    inline void note_sent(std::size_t commands) noexcept;
    inline void expect(const command_row& row, command_subject subject, form f) noexcept;

    node_state& node_;
    const wording words_;
    fifo<pending> fifo_;
    open_batches batches_;
    /// The commands in batches, but for one of each batch in `fifo_`.
    std::size_t further_in_batches_ = 0;
    output out_;
    std::size_t releases_ = 0;
    bool is_stalled_ = false;
    /// The node has a native compare-and-delete, but refuses it to this client.
    bool refuses_native_ = false;
    bool refuses_digests_ = false;
    /// The node refuses INCR outside of scripts, so the count script increments.
    bool refuses_increment_ = false;
    /// The node has run the label script on this connection.
    bool knows_label_script_ = false;
    /// The client has sent the texts of these scripts on this connection.
    bool knows_release_batch_ = false;
    bool knows_extend_batch_ = false;
    bool refuses_batches_ = false;
};

inline void requests::count_reference(command what, command_subject subject) noexcept
{
    using kind = command_subject::kind;
    const command_traits& traits = traits_of(what);
    assert(traits.subject == kind::none || traits.subject == subject.what);
    switch (traits.subject) {
        case kind::round: ++static_cast<round*>(subject.at)->references; break;
        case kind::lease: ++static_cast<lease*>(subject.at)->references; break;
        case kind::none:
        case kind::pending_release:
        case kind::batch: break;
    }
    releases_ += traits.is_for == command_traits::purpose::release ? 1U : 0U;
}

inline void requests::note_sent(std::size_t commands) noexcept
{
    node_context& shared = node_.shared;
    if (node_.is_ready()) {
        // If older commands wait, the node acts earlier, and then sets the next instant.
        node_.wake_by(shared.now + shared.settings.stall_timeout);
    }
    shared.written |= bit(node_.index);
    shared.stats.commands += commands;
}

inline void requests::expect(const command_row& row, command_subject subject, form f) noexcept
{
    for (const command what : row) {
        fifo_.push({subject.at, node_.shared.now, what, f, subject.member});
        count_reference(what, subject);
    }
    note_sent(row.size());
}

template <class Append>
[[gnu::always_inline]] inline void requests::send_words(const command_row& row,
                                                        command_subject subject, form f,
                                                        Append append)
{
    if (!batches_.empty() && may_follow_a_batch(subject)) {
        send_batches_early();
    }
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
