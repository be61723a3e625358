// One JSON object on one line, built field by field.
#pragma once
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

namespace umpatch {

class Json {
 public:
  template <typename T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  Json& field(const char* name, T value) {
    if constexpr (std::is_same_v<T, bool>) {
      return raw(name, value ? "true" : "false");
    } else {
      return raw(name, std::to_string(value));
    }
  }
  Json& field(const char* name, const std::string& value) {
    return raw(name, quoted(value));
  }
  Json& field(const char* name, const char* value) {
    return raw(name, quoted(value));
  }
  Json& field(const char* name, const std::vector<std::string>& values) {
    std::string list = "[";
    for (const auto& value : values) {
      list += (list.size() > 1 ? "," : "") + quoted(value);
    }
    return raw(name, list + "]");
  }
  Json& object(const char* name, const Json& value) {
    return raw(name, value.text());
  }
  Json& null(const char* name) {
    return raw(name, "null");
  }
  std::string text() const {
    return "{" + body_ + "}";
  }

 private:
  std::string body_;

  Json& raw(const char* name, const std::string& value) {
    body_ += (body_.empty() ? "" : ",") + quoted(name) + ":" + value;
    return *this;
  }

  static std::string quoted(const std::string& value) {
    std::string result = "\"";
    for (const char c : value) {
      if (c == '"' || c == '\\') {
        result += '\\';
        result += c;
      } else if ((unsigned char)c < 0x20) {
        char escape[8];
        snprintf(escape, sizeof escape, "\\u%04x", (unsigned)c);
        result += escape;
      } else {
        result += c;
      }
    }
    return result + "\"";
  }
};

} // namespace umpatch
