# SPDX-License-Identifier: Apache-2.0
# Writes the page of `tulle serve` as one C++ source: -DPAGE=this folder -DOUTPUT=file. Its style and its script are inline, and
# the policy allows exactly these, by their digests.
cmake_minimum_required(VERSION 3.25)

# What a browser calls the SHA-256 of a text: 'sha256-BASE64'.
function(digest_of text result)
  string(SHA256 hex "${text}")
  string(APPEND hex "0000")  # whole groups of 3 bytes: 33
  set(letters "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  set(base64 "")
  foreach(at RANGE 0 60 6)
    string(SUBSTRING "${hex}" ${at} 6 group)
    foreach(shift 18 12 6 0)
      math(EXPR index "(0x${group} >> ${shift}) & 63")
      string(SUBSTRING "${letters}" ${index} 1 letter)
      string(APPEND base64 "${letter}")
    endforeach()
  endforeach()
  string(SUBSTRING "${base64}" 0 43 base64)
  set(${result} "'sha256-${base64}='" PARENT_SCOPE)
endfunction()

file(READ "${PAGE}/index.html" html)
file(READ "${PAGE}/style.css" style)
set(script "")
foreach(name IN ITEMS storage stream markdown messages page)
  file(READ "${PAGE}/${name}.js" text)
  string(APPEND script "${text}")
endforeach()
string(REPLACE "@STYLE@" "${style}" html "${html}")
string(REPLACE "@SCRIPT@" "${script}" html "${html}")
digest_of("${style}" style_digest)
digest_of("${script}" script_digest)
string(CONCAT policy "default-src 'none'; script-src ${script_digest}; style-src ${style_digest}; img-src data:; "
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")

file(WRITE "${OUTPUT}" "// Written by tools/serve/page/assemble.cmake.
#include \"tools/serve/chat_page.hpp\"

tulle::serve::WebPage chat_page() {
  return {R\"page(${html})page\", R\"(${policy})\"};
}
")
