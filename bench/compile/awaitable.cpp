#include <boost/asio/awaitable.hpp>
