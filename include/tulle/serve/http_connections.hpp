// SPDX-License-Identifier: Apache-2.0
/// \file Connections of an HTTP server: how many there are, and how long each may take (L6).
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

#include <sys/socket.h>

#include <tulle/core/httplib.hpp>

namespace tulle::serve {

/// A thread for each connection, at most `max_threads` at once; as many connections wait. More are closed at once.
class ConnectionThreads final : public httplib::TaskQueue {
 public:
  explicit ConnectionThreads(std::size_t max_threads) : max_threads_(max_threads) {}

  bool enqueue(std::function<void()> serve) override {
    const std::lock_guard lock(mutex_);
    if (stopping_ || served_ + waiting_.size() >= 2 * max_threads_) return false;
    waiting_.push_back(std::move(serve));
    if (running_ < max_threads_ && running_ - served_ < waiting_.size() && start_thread()) return true;
    arrived_.notify_one();
    if (running_ == 0) waiting_.pop_back();
    return running_ != 0;
  }

  /// Returns when all connections are closed.
  void shutdown() override {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    arrived_.notify_all();
    ended_.wait(lock, [this] { return running_ == 0; });
  }

 private:
  /// False where the system has no thread left: a connection then waits for one of those that there are.
  bool start_thread() {
    try {
      std::thread([this] { run(); }).detach();
      ++running_;
      return true;
    } catch (const std::system_error&) {
      return false;
    }
  }

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      const bool arrived =
          arrived_.wait_for(lock, std::chrono::seconds(10), [this] { return stopping_ || !waiting_.empty(); });
      if (!arrived || waiting_.empty()) break;
      const std::function<void()> serve = std::move(waiting_.front());
      waiting_.pop_front();
      ++served_;
      lock.unlock();
      serve();
      lock.lock();
      --served_;
    }
    --running_;
    ended_.notify_all();
  }

  const std::size_t max_threads_;
  std::mutex mutex_;
  std::condition_variable arrived_, ended_;
  std::deque<std::function<void()>> waiting_;
  std::size_t running_ = 0, served_ = 0;  // threads; those of them that serve a connection
  bool stopping_ = false;
};

/// Closes connections whose request does not arrive in time, however slowly its bytes trickle in.
class ConnectionWatch {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ConnectionWatch(std::chrono::seconds limit) : limit_(limit), thread_([this] { run(); }) {}
  ~ConnectionWatch() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }

  void begin(int socket) {
    const std::lock_guard lock(mutex_);
    deadlines_[socket] = Clock::now() + limit_;
  }
  void end(int socket) {
    const std::lock_guard lock(mutex_);
    deadlines_.erase(socket);
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::milliseconds(500), [this] { return stopping_; })) {
      const auto now = Clock::now();
      for (const auto& [socket, deadline] : deadlines_) {
        if (now >= deadline) ::shutdown(socket, SHUT_RDWR);  // its thread reads the end, and closes it
      }
    }
  }

  std::chrono::seconds limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, Clock::time_point> deadlines_;
  bool stopping_ = false;
  std::thread thread_;
};

/// A request line and its headers may have that many bytes.
inline constexpr std::size_t http_head_bytes = std::size_t{64} << 10;

/// The connection that the calling thread serves.
struct CurrentConnection {
  ConnectionWatch* watch = nullptr;
  int socket = -1;
  SSL* tls = nullptr;          ///< null: HTTP
  bool closes = false;         ///< after this answer: what the client sent may not have been read to its end
  std::size_t bytes_left = 0;  ///< that may be read of this request
  std::string ahead{};         ///< what was received and not read yet: perhaps the next requests
  std::size_t ahead_at = 0;

  bool has_ahead() const noexcept { return ahead_at < ahead.size(); }

  static CurrentConnection& get() {
    static thread_local CurrentConnection current;
    return current;
  }
  /// Whether the client has closed it.
  bool is_left() const {
    if (!httplib::detail::is_socket_alive(socket)) return true;
    if (tls == nullptr || httplib::detail::select_read(socket, 0, 0) <= 0) return false;
    char next = 0;  // perhaps there is but the record that says so
    httplib::detail::set_nonblocking(socket, true);
    (void)SSL_peek(tls, &next, 1);
    httplib::detail::set_nonblocking(socket, false);
    return (SSL_get_shutdown(tls) & SSL_RECEIVED_SHUTDOWN) != 0;
  }
  /// The request is complete.
  void received() {
    if (watch != nullptr) watch->end(socket);
  }
};

/// What the client sends, as far as `CurrentConnection` lets it: httplib has no limit of its own for the length of a line,
/// the number of headers or a body in chunks. What is received ahead belongs to the connection: httplib's own streams live
/// for one request, and would lose what follows it (RFC 9112, 9.3.2).
class LimitedStream final : public httplib::Stream {
 public:
  explicit LimitedStream(httplib::Stream& stream) : stream_(stream) {}

  bool is_readable() const override { return CurrentConnection::get().has_ahead() || stream_.is_readable(); }
  bool is_writable() const override { return stream_.is_writable(); }
  ssize_t read(char* to, std::size_t size) override {
    CurrentConnection& current = CurrentConnection::get();
    if (current.bytes_left == 0) return -1;
    if (!current.has_ahead()) {
      current.ahead.resize(received_at_once);
      current.ahead_at = 0;
      const ssize_t count = stream_.read(current.ahead.data(), current.ahead.size());
      current.ahead.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
      if (count <= 0) return count;
    }
    const std::size_t count = std::min({size, current.bytes_left, current.ahead.size() - current.ahead_at});
    std::memcpy(to, current.ahead.data() + current.ahead_at, count);
    current.ahead_at += count;
    current.bytes_left -= count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* from, std::size_t size) override { return stream_.write(from, size); }
  void get_remote_ip_and_port(std::string& ip, int& port) const override { stream_.get_remote_ip_and_port(ip, port); }
  void get_local_ip_and_port(std::string& ip, int& port) const override { stream_.get_local_ip_and_port(ip, port); }
  socket_t socket() const override { return stream_.socket(); }

 private:
  static constexpr std::size_t received_at_once = 16384;  // more than httplib's buffer, which is passed by then

  httplib::Stream& stream_;
};

/// An HTTP server (`Base` is httplib::Server) or HTTPS server (httplib::SSLServer) whose connections are watched, and
/// closed where `CurrentConnection` says so.
template <class Base>
class WatchedServer final : public Base {
 public:
  template <class... Arguments>
  explicit WatchedServer(std::chrono::seconds receive_time, const Arguments&... arguments)
      : Base(arguments...), watch_(receive_time) {}

 private:
  static constexpr bool has_tls = std::is_same_v<Base, httplib::SSLServer>;

  bool process_and_close_socket(socket_t socket) override {
    CurrentConnection& current = CurrentConnection::get();
    current = {.watch = &watch_, .socket = socket};
    std::string remote, local;
    int remote_port = 0, local_port = 0;
    httplib::detail::get_remote_ip_and_port(socket, remote, remote_port);
    httplib::detail::get_local_ip_and_port(socket, local, local_port);
    const bool done = serve(socket, [&](httplib::Stream& client, bool close, bool& closed) {
      bool served = false;
      do {  // httplib waits for new bytes, and sees none of those that came with a request
        watch_.begin(socket);
        LimitedStream stream(client);
        current.bytes_left = http_head_bytes;
        current.closes = true;  // unless the guard sees the request: what comes behind a wrong head is no request
        served = this->process_request(stream, remote, remote_port, local, local_port, close, closed, nullptr);
        watch_.end(socket);
        closed = closed || current.closes;
      } while (served && !closed && !close && current.has_ahead());
      return served;
    });
    if (current.closes) read_rest(socket);
    httplib::detail::shutdown_socket(socket);
    httplib::detail::close_socket(socket);
    current = {};
    return done;
  }

  /// A socket that is closed before all is read loses an answer that is still on its way (RFC 9112, 9.6).
  void read_rest(socket_t socket) {
    constexpr std::chrono::seconds patience(10);
    constexpr int idle_seconds = 1;
    ::shutdown(socket, SHUT_WR);
    std::array<char, 16384> rest{};
    const auto end = std::chrono::steady_clock::now() + patience;
    while (this->svr_sock_ != INVALID_SOCKET && std::chrono::steady_clock::now() < end &&
           httplib::detail::select_read(socket, idle_seconds, 0) > 0 &&
           ::recv(socket, rest.data(), rest.size(), 0) > 0) {
    }
  }

  /// All requests of a connection.
  template <class Request>
  bool serve(socket_t socket, Request request) {
    if constexpr (has_tls) {
      watch_.begin(socket);
      SSL* const tls = httplib::detail::ssl_new(
          socket, this->ssl_context(), tls_mutex_,
          [&](SSL* handle) {
            return httplib::detail::ssl_connect_or_accept_nonblocking(
                socket, handle, SSL_accept, this->read_timeout_sec_, this->read_timeout_usec_);
          },
          [](SSL*) { return true; });
      watch_.end(socket);
      if (tls == nullptr) return false;
      CurrentConnection::get().tls = tls;
      const bool done = httplib::detail::process_server_socket_ssl(
          this->svr_sock_, tls, socket, this->keep_alive_max_count_, this->keep_alive_timeout_sec_,
          this->read_timeout_sec_, this->read_timeout_usec_, this->write_timeout_sec_, this->write_timeout_usec_,
          request);
      httplib::detail::ssl_delete(tls_mutex_, tls, socket, done);
      return done;
    } else {
      return httplib::detail::process_server_socket(
          this->svr_sock_, socket, this->keep_alive_max_count_, this->keep_alive_timeout_sec_, this->read_timeout_sec_,
          this->read_timeout_usec_, this->write_timeout_sec_, this->write_timeout_usec_, request);
    }
  }

  ConnectionWatch watch_;
  std::mutex tls_mutex_;  // of its context
};

}  // namespace tulle::serve
