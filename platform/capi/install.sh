#!/bin/sh
# Builds dinrail for C and installs it: header, libraries, pkg-config file, CMake package.
#
#   install.sh --prefix DIR [options]
#
#   --no-std             no operating system, no heap: one static library that needs memcpy, memmove, memset, memcmp
#   --target TRIPLE      for another machine; CARGO (such as "cargo -Z build-std=core") and BINUTILS (such as
#                        arm-none-eabi-) name other tools
#   --features LIST      backends and levels, see Cargo.toml; "cpu" where not said
#   --c-prefix TEXT      what exported names begin with, instead of dinrail0_. Programs define DINRAIL_C_PREFIX alike
#   --profile NAME       a profile of Cargo.toml; "release", or "embedded" with --no-std
#   --name NAME          libNAME.a, libNAME.so, NAME.pc; "dinrail" where not said
#
# The static library is one object in which every name but those of dinrail.h is local: it clashes with nothing, and two of
# them with different prefixes can be in one program.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix='' std=1 target='' features=cpu symbols=dinrail0_ profile='' name=dinrail
fail() { printf 'install.sh: %s\n' "$*" >&2; exit 1; }
while [ $# -gt 0 ]; do
    case $1 in
        --*=*) # --prefix=DIR is --prefix DIR
            word=$1
            shift
            set -- "${word%%=*}" "${word#*=}" "$@"
            continue
            ;;
        --help)
            sed -n '2,/^set /s/^# \{0,1\}//p' "$0"
            exit 0
            ;;
        --no-std) std=0 ;;
        --prefix | --target | --features | --c-prefix | --profile | --name)
            [ $# -gt 1 ] || fail "$1 needs a value"
            case $1 in
                --prefix) prefix=$2 ;;
                --target) target=$2 ;;
                --features) features=$2 ;;
                --c-prefix) symbols=$2 ;;
                --profile) profile=$2 ;;
                --name) name=$2 ;;
            esac
            shift
            ;;
        *) fail "unknown option $1" ;;
    esac
    shift
done
[ -n "$prefix" ] || fail "--prefix DIR says where to"
# Parts of names in C, of files, and of variables in CMake.
case $symbols in '' | *[!A-Za-z0-9_]* | [0-9]*) fail "--c-prefix $symbols: names in C have letters, digits and _" ;; esac
case $name in '' | *[!A-Za-z0-9_.+-]* | -*) fail "--name $name: the name of a library has letters, digits and _.+-" ;; esac
mkdir -p "$prefix/include" "$prefix/lib/pkgconfig" "$prefix/lib/cmake/$name"
prefix=$(cd "$prefix" && pwd)
version=$(sed -n '/^\[workspace.package\]/,/^\[[^w]/s/^version *= *"\(.*\)"/\1/p' "$here/../../Cargo.toml")
cargo=${CARGO:-cargo} tools=${BINUTILS:-}

# Cargo's folder, where it was not told another.
targets=${CARGO_TARGET_DIR:-$here/../../target}
[ -z "$target" ] || targets=$targets/$target
build() { # crate types
    # shellcheck disable=SC2086 # CARGO may have options.
    DINRAIL_C_PREFIX=$symbols DINRAIL_C_NAME=$name $cargo rustc --manifest-path "$here/Cargo.toml" --lib --profile "$profile" \
        --no-default-features --features "$features" --crate-type "$1" ${target:+--target "$target"}
}
if [ $std = 1 ]; then
    profile=${profile:-release} features=std,$features private='-lpthread -ldl -lm'
    build staticlib,cdylib
else
    profile=${profile:-embedded} features=trap,$features private=''
    build staticlib
fi
case $profile in dev) out=$targets/debug ;; *) out=$targets/$profile ;; esac
archive=$out/libdinrail_capi.a
[ -f "$archive" ] || fail "cargo has not made $archive"

# One object, local but for our names. Tools of other systems than ELF can't do it; there the archive goes as it is.
static=$prefix/lib/lib$name.a
if "${tools}readelf" -hW "$archive" 2>/dev/null | grep -q 'ELF Header\|ELF32\|ELF64'; then
    object=$(mktemp -d)
    trap 'rm -rf "$object"' EXIT
    roots=$("${tools}readelf" -sW "$archive" 2>/dev/null |
        awk -v p="$symbols" '$5 == "GLOBAL" && $7 != "UND" && index($8, p) == 1 { print "-u " $8 }' | sort -u)
    [ -n "$roots" ] || fail "no name in $archive begins with $symbols"
    # shellcheck disable=SC2086 # Many words.
    # Tools for RISC-V serve two widths, and take 64 bits for granted.
    case $target in riscv32*) emulation=elf32lriscv ;; *) emulation='' ;; esac
    # shellcheck disable=SC2086 # Many words.
    "${tools}ld" ${emulation:+-m "$emulation"} -r --gc-sections --force-group-allocation $roots --whole-archive "$archive" -o "$object/$name.o"
    "${tools}objcopy" --wildcard --keep-global-symbol="$symbols*" --strip-debug \
        --remove-section=.llvmbc --remove-section=.llvmcmd "$object/$name.o" # bitcode of the standard library
    rm -f "$static"
    "${tools}ar" rcsD "$static" "$object/$name.o"
else
    cp "$archive" "$static"
fi

if [ $std = 1 ]; then
    if [ -f "$out/libdinrail_capi.so" ]; then
        # A program may be running with the one that is there: a new file, not new contents.
        rm -f "$prefix/lib/lib$name.so.$version"
        cp "$out/libdinrail_capi.so" "$prefix/lib/lib$name.so.$version"
        ln -sf "lib$name.so.$version" "$prefix/lib/lib$name.so.0"
        ln -sf "lib$name.so.0" "$prefix/lib/lib$name.so"
    elif [ -f "$out/libdinrail_capi.dylib" ]; then
        cp "$out/libdinrail_capi.dylib" "$prefix/lib/lib$name.dylib"
    fi
fi
cp "$here/include/dinrail.h" "$prefix/include/dinrail.h"

defines=''
[ "$symbols" = dinrail0_ ] || defines="-DDINRAIL_C_PREFIX=$symbols"
[ $std = 1 ] || defines="${defines:+$defines }-DDINRAIL_NO_STD"
cat >"$prefix/lib/pkgconfig/$name.pc" <<PC
prefix=\${pcfiledir}/../..
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: $name
Description: Tensor-compute core for programs that must fit
Version: $version
Cflags: -I\${includedir}${defines:+ $defines}
Libs: -L\${libdir} -l$name
Libs.private: $private
PC
cat >"$prefix/lib/cmake/$name/$name-config.cmake" <<CMAKE
# Targets: $name::static, and $name::shared where the library was built for an operating system.
get_filename_component(_${name}_prefix "\${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(_${name}_definitions ${defines})
string(REPLACE "-D" "" _${name}_definitions "\${_${name}_definitions}")
if(NOT TARGET $name::static)
    add_library($name::static STATIC IMPORTED)
    set_target_properties($name::static PROPERTIES
        IMPORTED_LOCATION "\${_${name}_prefix}/lib/lib$name.a"
        INTERFACE_INCLUDE_DIRECTORIES "\${_${name}_prefix}/include"
        INTERFACE_COMPILE_DEFINITIONS "\${_${name}_definitions}"
        INTERFACE_LINK_LIBRARIES "$private")
    if(EXISTS "\${_${name}_prefix}/lib/lib$name.so")
        add_library($name::shared SHARED IMPORTED)
        set_target_properties($name::shared PROPERTIES
            IMPORTED_LOCATION "\${_${name}_prefix}/lib/lib$name.so"
            IMPORTED_SONAME "lib$name.so.0"
            INTERFACE_INCLUDE_DIRECTORIES "\${_${name}_prefix}/include"
            INTERFACE_COMPILE_DEFINITIONS "\${_${name}_definitions}")
    endif()
endif()
set(${name}_FOUND TRUE)
CMAKE
cat >"$prefix/lib/cmake/$name/$name-config-version.cmake" <<CMAKE
set(PACKAGE_VERSION "$version")
if(PACKAGE_FIND_VERSION VERSION_LESS_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
endif()
CMAKE
echo "installed $name $version in $prefix"
