// SPDX-License-Identifier: Apache-2.0
#include <tulle/hub/hub_url.hpp>

#include <catch2/catch_all.hpp>
#include <string>

using namespace tulle;
using detail::parse_hub_url, detail::redirected;

TEST_CASE("an address is a server and a path", "[hub][hub_url]") {
  const auto url = parse_hub_url("HTTPS://Hub.example:443/a/B?c=d%2B#e").value();
  CHECK(url.origin == "https://hub.example");
  CHECK(url.path == "/a/B?c=d%2B");
  CHECK(parse_hub_url("http://[::1]:8080").value().text() == "http://[::1]:8080/");
  CHECK(parse_hub_url("http://a?b").value().path == "/?b");
  for (const char* bad : {"", "hub.example", "ftp://a/", "http://", "http://user@a/", "http://a/b c", "http://a\\b/",
                          "http://a/\r\nX: y", "file:///etc/passwd"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_hub_url(bad));
  }
}

TEST_CASE("a redirect leads to an address or to another path", "[hub][hub_url]") {
  const auto from = parse_hub_url("https://a/x").value();
  CHECK(redirected(from, "/y?z").value().text() == "https://a/y?z");
  CHECK(redirected(from, "//b/y").value().text() == "https://b/y");
  CHECK(redirected(from, "http://b:1/y").value().origin == "http://b:1");
  CHECK_FALSE(redirected(from, ""));
  CHECK_FALSE(redirected(from, "y"));
}

TEST_CASE("paths are encoded", "[hub][hub_url]") {
  CHECK(detail::encode_hub_path("a/b c+\xc3\xa9.gguf") == "a/b%20c%2B%C3%A9.gguf");
  CHECK(detail::encode_hub_path("refs/pr/1", "") == "refs%2Fpr%2F1");
}
