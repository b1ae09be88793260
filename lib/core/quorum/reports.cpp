#include "core/quorum/reports.hpp"

#include "base/text.hpp"
#include "core/label.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace redlock::core {

using base::instant;

void fill_report(const operation& op, const round& r, const node_list& nodes, instant now)
{
    if (op.report == nullptr) {
        return;
    }
    report& out = *op.report;
    out.attempts = std::max(op.attempts_made, 1u);
    out.queue_position = op.queue_position;
    out.clients_before = op.wait.before;
    out.holder_ttl = r.holder_ttl;
    out.holder_label.clear();
    out.nodes.resize(nodes.size());
    for (unsigned i = 0; i < nodes.size(); ++i) {
        const round_details::of_node& known = r.details->nodes[i];
        node_report& n = out.nodes[i];
        n.node = nodes[i]->display();
        n.outcome = known.outcome;
        n.elapsed = std::chrono::duration_cast<std::chrono::microseconds>(known.elapsed);
        n.error = known.error;
        n.holder_ttl.reset();
        if (known.ttl && *known.ttl >= std::chrono::milliseconds{0}) {
            n.holder_ttl = known.ttl;
        }
        n.never_ends = known.ttl == round_details::no_ttl;
        n.refused_resource.clear();
        if (n.outcome == node_outcome::refused) {
            if (known.member > 0) {
                n.refused_resource = r.of->resources()[known.member - 1];
            }
            if (out.holder_label.empty()) {
                out.holder_label = base::printable(untied(known.label));
            }
        }
        n.key_group.reset();  // `report_key_groups` sets it
        n.quarantine.reset();
        if (n.outcome == node_outcome::quarantined) {
            n.quarantine =
                std::chrono::ceil<std::chrono::milliseconds>(nodes[i]->quarantine_left(now));
        }
    }
}

void report_no_attempt(const operation& op, const node_list& nodes)
{
    if (op.report == nullptr) {
        return;
    }
    report& out = *op.report;
    out.attempts = op.attempts_made;
    out.queue_position = op.queue_position;
    out.clients_before = op.wait.before;
    out.holder_ttl.reset();
    out.holder_label.clear();
    out.nodes.assign(nodes.size(), {});
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const node& n = *nodes[i];
        out.nodes[i].node = n.display();
        out.nodes[i].outcome = n.is_ready() ? node_outcome::not_asked : node_outcome::disconnected;
        out.nodes[i].error = n.trouble();
    }
}

void report_place(const operation& op) noexcept
{
    if (op.report != nullptr) {
        op.report->attempts = op.attempts_made;
        op.report->queue_position = op.queue_position;
        op.report->clients_before = op.wait.before;
    }
}

void report_holder(const operation& op, instant end, instant now) noexcept
{
    report_place(op);
    if (op.report != nullptr && end > now && end != unknown_end) {
        op.report->holder_ttl = std::chrono::ceil<std::chrono::milliseconds>(end - now);
    }
}

void clear_report(const operation& op) noexcept
{
    if (op.report != nullptr) {
        op.report->nodes.clear();
        op.report->attempts = 0;
        op.report->queue_position = 0;
        op.report->clients_before.reset();
        op.report->holder_ttl.reset();
        op.report->holder_label.clear();
    }
}

void count_outcome(const operation& op, redlock::stats& counts) noexcept
{
    const error_code& ec = op.error;
    switch (op.what) {
        case operation::kind::acquire:
        case operation::kind::adopt:
            if (!ec) {
                ++counts.acquired;
                return;
            }
            counts.contended += ec == errc::contended;
            counts.unavailable += ec == errc::unavailable;
            counts.expired += ec == errc::expired;
            counts.timed_out += ec == errc::timed_out;
            counts.cancelled += op.cancelled && ec == op.cancelled && ec != errc::closed;
            return;
        case operation::kind::extend:
            counts.extended += !ec;
            counts.lost += ec == errc::lost;
            counts.extend_unknown += ec == errc::unavailable;
            return;
        case operation::kind::release:
            if (!ec) {
                counts.released += op.released == release_result::released;
                counts.not_held += op.released == release_result::not_held;
                return;
            }
            counts.release_unknown += ec == errc::unavailable;
            return;
        case operation::kind::inspect:
        case operation::kind::wait_lost:
        case operation::kind::renew: return;
    }
}

}  // namespace redlock::core
