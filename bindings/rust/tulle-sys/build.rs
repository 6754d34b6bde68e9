// SPDX-License-Identifier: Apache-2.0
//! Finds libtulle: in TULLE_LIB_DIR, else by pkg-config (unless TULLE_BUNDLED is set), else by building it with cmake
//! from the tree that holds this crate. TULLE_STATIC links the static library of TULLE_LIB_DIR or pkg-config.
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    for name in ["TULLE_LIB_DIR", "TULLE_STATIC", "TULLE_BUNDLED", "PKG_CONFIG_PATH"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    let is_static = env::var_os("TULLE_STATIC").is_some();
    let bundled = env::var_os("TULLE_BUNDLED").is_some();
    if let Some(folder) = env::var_os("TULLE_LIB_DIR") {
        link(Path::new(&folder), is_static);
    } else if let Some(folder) = (!bundled).then(from_pkg_config).flatten() {
        link(&folder, is_static);
    } else {
        link(&build_from_tree(), true);
    }
}

fn link(folder: &Path, is_static: bool) {
    println!("cargo:rustc-link-search=native={}", folder.display());
    if is_static {
        println!("cargo:rustc-link-lib=static=tulle");
        for library in private_libraries(folder) {
            println!("cargo:rustc-link-lib=dylib={library}");
        }
    } else {
        println!("cargo:rustc-link-lib=dylib=tulle");
    }
    println!("cargo:lib_dir={}", folder.display());
}

/// What the static library needs, which its pkg-config file says: OpenSSL too where it downloads models.
fn private_libraries(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join("pkgconfig/tulle_capi.pc")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Libs.private:")).unwrap_or("-lstdc++ -lm");
    line.split_whitespace().filter_map(|word| word.strip_prefix("-l")).map(str::to_owned).collect()
}

/// The folder that pkg-config names, of a library that has this crate's version.
fn from_pkg_config() -> Option<PathBuf> {
    let version = concat!("--atleast-version=", env!("CARGO_PKG_VERSION"));
    let ask = |arguments: &[&str]| {
        let output = Command::new("pkg-config").args(arguments).arg("tulle_capi").output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    ask(&[version])?;
    ask(&["--variable=libdir"]).map(PathBuf::from)
}

/// Builds the static library with the repository's own CMakeLists.txt. Its dependencies come from tools/setup or the
/// system.
fn build_from_tree() -> PathBuf {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let root = manifest.join("../../..");
    let build = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("cmake");
    assert!(
        root.join("capi/CMakeLists.txt").is_file(),
        "libtulle was not found. Install it (see bindings/rust/README.md), name its folder in TULLE_LIB_DIR, \
         or depend on this crate by path or git."
    );
    for folder in ["capi", "include", "tools/compiled", "tools/xgrammar"] {
        println!("cargo:rerun-if-changed={}", root.join(folder).display());
    }
    fs::create_dir_all(&build).expect("the build folder cannot be made");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(&root).arg("-B").arg(&build).arg("-DCMAKE_BUILD_TYPE=Release");
    for part in ["TESTS", "TOOLS", "EXAMPLES"] {
        configure.arg(format!("-DTULLE_BUILD_{part}=OFF"));
    }
    let grammar = if env::var_os("CARGO_FEATURE_GRAMMAR").is_some() { "ON" } else { "OFF" };
    run(configure.arg(format!("-DTULLE_WITH_GRAMMAR={grammar}")));
    let jobs = env::var("NUM_JOBS").expect("cargo sets NUM_JOBS");
    run(Command::new("cmake").arg("--build").arg(&build).args(["--target", "tulle_capi_static", "--parallel", &jobs]));
    build.join("capi")
}

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?} failed; `tools/setup` in the repository brings what it needs");
}
