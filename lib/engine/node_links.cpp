#include "engine/node_links.hpp"

#include "engine/driver.hpp"
#include "engine/known_addresses.hpp"

#include <algorithm>
#include <bit>
#include <exception>
#include <utility>

namespace redlock::engine {

namespace {

template <class What>
void each(core::node_mask nodes, What what)
{
    for (; nodes != 0; nodes &= nodes - 1) {
        what(static_cast<unsigned>(std::countr_zero(nodes)));
    }
}

}  // namespace

node_links::node_links(const base::settings& s, const boost::asio::any_io_executor& executor,
                       const boost::asio::any_io_executor& later, environment& w,
                       core::client_core& core, driver& d)
    : settings_(s),
      executor_(executor),
      later_(later),
      environment_(w),
      core_(core),
      network_(core.network()),
      driver_(d),
      peers_(s.nodes.size())
{
    const auto is_tls = [](const base::address& a) {
        return a.via == base::address::transport::tls;
    };
    if (std::any_of(s.nodes.begin(), s.nodes.end(), is_tls)) {
        tls_.emplace(s);
    }
}

void node_links::close_all() noexcept
{
    for (unsigned i = 0; i < peers_.size(); ++i) {
        close_link(i);
    }
}

void node_links::serve()
{
    close_given_up();
    each(network_.take_to_connect(), [this](unsigned i) { connect(i); });
    write_all();
}

void node_links::connect(unsigned node)
{
    try {
        if (settings_.credentials) {
            ask_for_credentials(node);
        } else {
            make_link(node);
        }
    } catch (const std::exception& e) {
        on_link_down(node, e.what());
    }
}

/// Calls the user's provider after this turn, because the provider may call any function of the
/// client.
void node_links::ask_for_credentials(unsigned node)
{
    const auto request = std::make_shared<credentials_request>(
        executor_, std::shared_ptr<credentials_events>(driver_.shared_from_this(), this), node);
    peers_[node].asking = request;
    later_.execute([this, self = driver_.shared_from_this(), request] {
        const unsigned i = request->node();
        if (peers_[i].asking == request && !driver_.is_stopped()) {
            request->ask(settings_.credentials, settings_.nodes[i].display);
        }
    });
}

void node_links::on_credentials(credentials_request& answered)
{
    const unsigned node = answered.node();
    peer& p = peers_[node];
    if (p.asking.get() != &answered) {
        return;  // the attempt has ended
    }
    p.asking = nullptr;
    if (!answered.failure().empty()) {
        on_link_down(node, answered.failure());
        return;
    }
    if (network_.on_credentials(driver_.now(), node, answered.given())) {
        try {
            make_link(node);
        } catch (const std::exception& e) {
            on_link_down(node, e.what());
            return;
        }
    }
    close_given_up();
    driver_.want_turn();
}

void node_links::make_link(unsigned node)
{
    peer& p = peers_[node];
    const base::address& to = settings_.nodes[node];
    if (!p.addresses) {
        p.addresses = std::make_shared<known_addresses>();
    }
    if (network_.take_was_useful(node)) {
        p.addresses->note_use();
    }
    const link_setup setup{executor_, this, node, &to, p.addresses};
    const auto log = [this](log_level level, std::string_view what, std::string_view why) {
        core_.log(level, {what, why});
    };
    const bool is_tls = to.via == base::address::transport::tls;
    p.connection = environment_.make_link(setup, is_tls ? tls_->latest(log) : nullptr);
    p.connection->start();
}

/// If memory runs out at the end of a turn, the core gives connections up and operations end. Their
/// handlers run in the next turn, which must not wait for an event.
void node_links::write_all()
{
    each(network_.take_written(), [this](unsigned i) { write(i); });
    if (close_given_up()) {
        driver_.want_turn();
    }
}

void node_links::write(unsigned node)
{
    link* l = peers_[node].connection.get();
    if (l == nullptr || l->is_writing() || !network_.has_output(node)) {
        return;
    }
    try {
        l->write(std::exchange(network_.take_output(node), {}));
    } catch (const std::exception& e) {
        on_link_down(node, e.what());
    }
}

void node_links::close_link(unsigned node) noexcept
{
    if (const auto unanswered = std::exchange(peers_[node].asking, nullptr)) {
        unanswered->close();
    }
    if (const auto gone = std::exchange(peers_[node].connection, nullptr)) {
        gone->close();
    }
}

/// Closes the links that the core has given up, at once, so that they report no more events. False:
/// there were none.
bool node_links::close_given_up() noexcept
{
    const core::node_mask given_up = network_.take_to_close();
    each(given_up, [this](unsigned i) { close_link(i); });
    return given_up != 0;
}

/// A server that can't be used may have others under its name.
void node_links::note_addresses(unsigned node) noexcept
{
    network_.note_other_addresses(node, peers_[node].addresses->has_untried());
}

void node_links::on_link_handshaking(unsigned node)
{
    network_.on_tls_handshake(node);
    note_addresses(node);
}

void node_links::on_link_up(unsigned node)
{
    const auto self = driver_.shared_from_this();
    note_addresses(node);
    network_.on_connected(driver_.now(), node);
    close_given_up();
    driver_.want_turn();
}

void node_links::on_link_bytes(unsigned node, std::string_view bytes)
{
    const auto self = driver_.shared_from_this();
    network_.on_bytes(driver_.now(), node, bytes);
    close_given_up();
    driver_.want_turn();
}

void node_links::on_link_written(unsigned node, std::string&& used)
{
    network_.on_written(node, std::move(used));
    write(node);
}

void node_links::on_link_down(unsigned node, std::string_view reason)
{
    const auto self = driver_.shared_from_this();
    // A pending write must not keep the connection open.
    close_link(node);
    network_.on_closed(driver_.now(), node, reason);
    driver_.want_turn();
}

}  // namespace redlock::engine
