#include "resp/encoder.hpp"

#include <array>

namespace redlock::resp {

void append_hello(std::string& out, std::string_view user, std::string_view password,
                  std::string_view client_name)
{
    std::array<std::string_view, 5> more;
    std::size_t size = 0;
    if (!user.empty() || !password.empty()) {
        for (const std::string_view word :
             {std::string_view("AUTH"), user.empty() ? "default" : user, password}) {
            more[size++] = word;
        }
    }
    if (!client_name.empty()) {
        more[size++] = "SETNAME";
        more[size++] = client_name;
    }
    append(out, "HELLO", "3", word_list(more).first(size));
}

}  // namespace redlock::resp
