// SPDX-License-Identifier: Apache-2.0
#include <tulle/serve/http_guard.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::serve;

TEST_CASE("A key is equal to itself alone", "[serve]") {
  CHECK(equal_in_constant_time("secret", "secret"));
  for (const char* key : {"", "s", "secre", "secret2", "Secret", "secretsecret"}) {
    CHECK_FALSE(equal_in_constant_time(key, "secret"));
  }
  CHECK(equal_in_constant_time("", ""));
  CHECK_FALSE(equal_in_constant_time("a", ""));
}

TEST_CASE("A request whose body has no clear length is refused, and its connection closed", "[serve]") {
  const ServerOptions options;
  const HttpGuard guard(options);
  const auto status = [&](const char* method, const httplib::Headers& headers) {
    httplib::Request request;
    httplib::Response response;
    request.method = method;
    request.path = "/v1/completions";
    request.headers = headers;
    return guard.admit(request, response) ? 200 : response.status;
  };
  CHECK(status("POST", {{"Content-Length", "2"}}) == 200);
  CHECK(status("POST", {{"Transfer-Encoding", "chunked"}}) == 200);
  CHECK_FALSE(CurrentConnection::get().closes);
  CHECK(status("POST", {{"Content-Length", "2"}, {"Transfer-Encoding", "chunked"}}) == 400);
  CHECK(CurrentConnection::get().closes);
  CHECK(status("POST", {{"Content-Length", "2"}, {"Content-Length", "3"}}) == 400);
  CHECK(status("POST", {{"Transfer-Encoding", "gzip, chunked"}}) == 400);
  CHECK(status("POST", {}) == 411);
  CHECK(status("GET", {}) == 200);
  CHECK_FALSE(CurrentConnection::get().closes);
  CHECK(status("GET", {{"Content-Length", "2"}}) == 200);
  CHECK(CurrentConnection::get().closes);
}
