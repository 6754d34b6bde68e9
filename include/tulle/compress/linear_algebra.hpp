// SPDX-License-Identifier: Apache-2.0
/// \file Dense linear algebra of compression, over BLAS and LAPACK: the only include of xtensor-blas (L5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include <xtensor-blas/xblas_config.hpp>  // first: it makes the others call CBLAS

#include <xtensor-blas/xblas.hpp>
#include <xtensor-blas/xlapack.hpp>

#include <tulle/core/thread_pool.hpp>
#include <tulle/core/types.hpp>
#include <tulle/tensor/isa.hpp>
#include <tulle/tensor/matrix_view.hpp>

extern "C" {
void openblas_set_num_threads(int threads);
char* openblas_get_corename();
// Only where OpenBLAS was built for many CPUs.
[[gnu::weak]] void gotoblas_dynamic_init();
[[gnu::weak]] void gotoblas_dynamic_quit();
}

namespace tulle {

/// To be called before all else here. From then on a call of BLAS runs on its caller's thread, so results depend on the
/// blocks of a product alone, never on the number of threads. An OpenBLAS that is older than the CPU takes its slowest
/// loops (6 times slower here): then those of the instruction sets are chosen. OPENBLAS_CORETYPE, where it is set, wins.
inline void prepare_blas() {
  openblas_set_num_threads(1);
  const bool may_choose = gotoblas_dynamic_init != nullptr && gotoblas_dynamic_quit != nullptr;
  if (!may_choose || std::getenv("OPENBLAS_CORETYPE") != nullptr || !isa::Avx2::available()) return;
  if (std::string_view(openblas_get_corename()) != "Prescott") return;
  ::setenv("OPENBLAS_CORETYPE", isa::Avx512::available() ? "SkylakeX" : "Haswell", 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
}

enum class Transposed { no, yes };

/// c = alpha op(a) op(b) + beta c, on the caller's thread. Shapes after op: a [m, k], b [k, n], c [m, n].
/// T: float or double.
template <class T>
void multiply_matrices(MatrixView<const T> a, Transposed op_a, MatrixView<const T> b, Transposed op_b, T alpha, T beta,
                       MatrixView<T> c) noexcept {
  const auto index = [](std::size_t value) { return static_cast<xt::blas_index_t>(value); };
  const auto op = [](Transposed which) { return which == Transposed::yes ? cxxblas::Trans : cxxblas::NoTrans; };
  const std::size_t inner = op_a == Transposed::yes ? a.rows : a.columns;
  if (c.rows == 0 || c.columns == 0) return;
  cxxblas::gemm<xt::blas_index_t>(cxxblas::RowMajor, op(op_a), op(op_b), index(c.rows), index(c.columns), index(inner),
                                  alpha, a.data, index(a.stride), b.data, index(b.stride), beta, c.data,
                                  index(c.stride));
}

/// Rows of one task: the same for every number of threads.
inline constexpr std::size_t block_of_rows = 128;

/// Calls work(range of rows) for blocks of `block` rows of `rows`, on all threads of `pool`.
template <class Work>
void for_row_blocks(ThreadPool& pool, std::size_t rows, std::size_t block, Work&& work) noexcept {
  const std::size_t blocks = (rows + block - 1) / block;
  pool.run([&](std::size_t worker) noexcept {
    for (std::size_t i = worker; i < blocks; i += pool.size()) {
      work(RowRange{i * block, std::min(rows, (i + 1) * block)});
    }
  });
}

template <class T>
MatrixView<T> rows_of(MatrixView<T> matrix, RowRange range) noexcept {
  return {matrix[range.begin], range.count(), matrix.columns, matrix.stride};
}

/// c = a op(b), blocks of rows on all threads.
template <class T>
void multiply_rows(ThreadPool& pool, MatrixView<const T> a, MatrixView<const T> b, Transposed op_b,
                   MatrixView<T> c) noexcept {
  for_row_blocks(pool, a.rows, block_of_rows, [&](RowRange range) {
    multiply_matrices<T>(rows_of(a, range), Transposed::no, b, op_b, T{1}, T{0}, rows_of(c, range));
  });
}

/// Replaces the symmetric matrix a by L, a = L L^T, in its lower triangle. False where a is not positive definite.
template <class T>
[[nodiscard]] bool factor_cholesky(MatrixView<T> a) noexcept {
  // LAPACK reads columns: the upper triangle of its matrix is our lower one.
  return cxxlapack::potrf<xt::blas_index_t>('U', static_cast<xt::blas_index_t>(a.rows), a.data,
                                            static_cast<xt::blas_index_t>(a.stride)) == 0;
}

/// Replaces L of `factor_cholesky` by the whole of the inverse of L L^T.
template <class T>
void invert_factored(MatrixView<T> a) noexcept {
  cxxlapack::potri<xt::blas_index_t>('U', static_cast<xt::blas_index_t>(a.rows), a.data,
                                     static_cast<xt::blas_index_t>(a.stride));
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j < i; ++j) a[j][i] = a[i][j];
  }
}

/// Replaces the rows x of `b` by the solutions of (L L^T) y = x, with L of `factor_cholesky`.
template <class T>
void solve_factored(MatrixView<const T> l, MatrixView<T> b) noexcept {
  cxxlapack::potrs<xt::blas_index_t>('U', static_cast<xt::blas_index_t>(l.rows), static_cast<xt::blas_index_t>(b.rows),
                                     l.data, static_cast<xt::blas_index_t>(l.stride), b.data,
                                     static_cast<xt::blas_index_t>(b.stride));
}

/// Of an unordered copy; 0 for no values. With an even number the lower one of the middle, as torch takes it.
template <class T>
T median(std::span<const T> values) {
  if (values.empty()) return T{};
  std::vector<T> copy(values.begin(), values.end());
  const auto middle = copy.begin() + static_cast<std::ptrdiff_t>((copy.size() - 1) / 2);
  std::nth_element(copy.begin(), middle, copy.end());
  return *middle;
}

}  // namespace tulle
