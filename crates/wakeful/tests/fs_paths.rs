//! Functions on paths and directory listings.

mod support;

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use support::files::{TempDir, evict_pages, is_in_directory_cache, needs_no_thread, reads_inline};
use support::multi_thread;
use wakeful::fs::{self, DirBuilder};

#[test]
fn whole_files_are_written_and_read() {
    multi_thread(2).block_on(async {
        let dir = TempDir::new();
        let path = dir.join("file");
        for len in [0, 1, 4096, 4097, 256 * 1024, 256 * 1024 + 1, 3_000_000] {
            let bytes: Vec<u8> = (0..len).map(|n| b'a' + (n % 26) as u8).collect();
            fs::write(&path, bytes.clone()).await.unwrap();
            assert!(fs::read(&path).await.unwrap() == bytes);
            assert!(fs::read_to_string(&path).await.unwrap().into_bytes() == bytes);
            let std = std::fs::File::open(&path).unwrap();
            std.sync_all().unwrap();
            for offset in [0, len as i64 / 2] {
                evict_pages(&std, offset, 0);
                assert!(fs::read(&path).await.unwrap() == bytes);
            }
        }
    });
}

#[test]
fn metadata_of_a_cached_file_needs_no_thread() {
    let dir = TempDir::new();
    let path = dir.file("file", "hello");
    std::os::unix::fs::symlink(&path, dir.join("link")).unwrap();
    if !reads_inline(&path) {
        return;
    }
    // Brings the link into the directory cache.
    assert!(std::fs::symlink_metadata(dir.join("link")).is_ok());
    needs_no_thread(async || {
        assert_eq!(fs::metadata(&path).await.unwrap().len(), 5);
        assert!(fs::metadata(dir.path()).await.unwrap().is_dir());
        assert!(fs::symlink_metadata(dir.join("link")).await.unwrap().is_symlink());
        assert!(fs::try_exists(&path).await.unwrap());
        let file = fs::File::open(&path).await.unwrap();
        assert_eq!(file.metadata().await.unwrap().len(), 5);
    });
}

#[test]
fn cached_links_and_absent_files_need_no_thread() {
    let dir = TempDir::new();
    let path = dir.file("file", "hello");
    let (link, absent) = (dir.join("link"), dir.join("absent"));
    std::os::unix::fs::symlink(&path, &link).unwrap();
    if !reads_inline(&path) {
        return;
    }
    // Brings both into the directory cache, if the file system allows it.
    assert!(std::fs::metadata(&link).is_ok());
    assert!(std::fs::metadata(&absent).is_err());
    if is_in_directory_cache(&link) {
        needs_no_thread(async || assert!(fs::metadata(&link).await.unwrap().is_file()));
    }
    if is_in_directory_cache(&absent) {
        needs_no_thread(async || {
            assert!(!fs::try_exists(&absent).await.unwrap());
            let error = fs::metadata(&absent).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound);
        });
    }
}

#[test]
fn small_cached_files_are_read_without_a_thread() {
    let dir = TempDir::new();
    let path = dir.file("file", "hello");
    let empty = dir.file("empty", "");
    if !reads_inline(&path) {
        return;
    }
    needs_no_thread(async || {
        assert_eq!(fs::read(&path).await.unwrap(), b"hello");
        assert_eq!(fs::read_to_string(&path).await.unwrap(), "hello");
        assert_eq!(fs::read(&empty).await.unwrap(), b"");
    });
}

#[test]
fn reading_invalid_utf8_as_text_is_an_error() {
    multi_thread(2).block_on(async {
        let dir = TempDir::new();
        for len in [1, 1_000_000] {
            let path = dir.file("file", vec![0xff; len]);
            let error = fs::read_to_string(&path).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidData);
            let expected = std::fs::read_to_string(&path).unwrap_err();
            assert_eq!(error.to_string(), expected.to_string());
        }
    });
}

#[test]
fn directories_are_made_and_removed() {
    multi_thread(2).block_on(async {
        let dir = TempDir::new();
        fs::create_dir(dir.join("a")).await.unwrap();
        let error = fs::create_dir(dir.join("a")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        fs::create_dir_all(dir.join("a/b/c")).await.unwrap();
        fs::create_dir_all(dir.join("a/b/c")).await.unwrap();
        DirBuilder::new().mode(0o700).create(dir.join("private")).await.unwrap();
        let mode = fs::metadata(dir.join("private")).await.unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert!(DirBuilder::new().create(dir.join("x/y")).await.is_err());
        DirBuilder::new().recursive(true).create(dir.join("x/y")).await.unwrap();
        assert!(fs::remove_dir(dir.join("a")).await.is_err());
        fs::remove_dir(dir.join("a/b/c")).await.unwrap();
        fs::remove_dir_all(dir.join("a")).await.unwrap();
        assert!(!fs::try_exists(dir.join("a")).await.unwrap());
    });
}

#[test]
fn files_are_copied_linked_renamed_and_removed() {
    multi_thread(2).block_on(async {
        let dir = TempDir::new();
        let path = dir.file("file", "hello");
        assert_eq!(fs::copy(&path, dir.join("copy")).await.unwrap(), 5);
        assert_eq!(fs::read(dir.join("copy")).await.unwrap(), b"hello");

        fs::hard_link(&path, dir.join("second name")).await.unwrap();
        fs::symlink(&path, dir.join("link")).await.unwrap();
        assert_eq!(fs::read_link(dir.join("link")).await.unwrap(), path);
        assert!(fs::symlink_metadata(dir.join("link")).await.unwrap().is_symlink());
        assert!(fs::metadata(dir.join("link")).await.unwrap().is_file());
        let real = std::fs::canonicalize(&path).unwrap();
        assert_eq!(fs::canonicalize(dir.join("link")).await.unwrap(), real);

        fs::rename(&path, dir.join("renamed")).await.unwrap();
        assert!(!fs::try_exists(&path).await.unwrap());
        assert!(!fs::try_exists(dir.join("link")).await.unwrap(), "the link is dangling");
        assert_eq!(fs::read(dir.join("second name")).await.unwrap(), b"hello");
        fs::remove_file(dir.join("renamed")).await.unwrap();
        assert_eq!(fs::remove_file(&path).await.unwrap_err().kind(), ErrorKind::NotFound);
    });
}

#[test]
fn permissions_are_set() {
    multi_thread(2).block_on(async {
        let dir = TempDir::new();
        let path = dir.file("file", "");
        let permissions = std::fs::Permissions::from_mode(0o640);
        fs::set_permissions(&path, permissions).await.unwrap();
        assert_eq!(fs::metadata(&path).await.unwrap().permissions().mode() & 0o777, 0o640);
    });
}

#[test]
fn a_listing_has_each_entry_once() {
    for count in [0, 1, 127, 128, 129, 1000] {
        multi_thread(2).block_on(async {
            let dir = TempDir::new();
            let names: BTreeSet<String> = (0..count).map(|n| format!("entry-{n}")).collect();
            for name in &names {
                std::fs::write(dir.join(name), name).unwrap();
            }
            let mut found = BTreeSet::new();
            let mut entries = fs::read_dir(dir.path()).await.unwrap();
            while let Some(entry) = entries.next_entry().await.unwrap() {
                assert!(entry.file_type().await.unwrap().is_file());
                assert_ne!(entry.ino(), 0);
                assert_eq!(entry.path(), dir.path().join(entry.file_name()));
                let name = entry.file_name().into_string().unwrap();
                assert_eq!(entry.metadata().await.unwrap().len(), name.len() as u64);
                assert!(found.insert(name));
            }
            assert_eq!(found, names);
            assert!(entries.next_entry().await.unwrap().is_none());
        });
    }
}

#[test]
fn a_dropped_next_entry_loses_no_entry() {
    multi_thread(2).block_on(async {
        use std::future::Future;
        use std::task::{Context, Poll, Waker};
        let dir = TempDir::new();
        for number in 0..1000 {
            dir.file(&number.to_string(), "");
        }
        let mut entries = fs::read_dir(dir.path()).await.unwrap();
        let mut found = 0;
        loop {
            let step =
                std::pin::pin!(entries.next_entry()).poll(&mut Context::from_waker(Waker::noop()));
            match step {
                Poll::Ready(Ok(Some(_))) => found += 1,
                Poll::Ready(end) => {
                    assert!(end.unwrap().is_none());
                    break;
                }
                Poll::Pending => wakeful::task::yield_now().await,
            }
        }
        assert_eq!(found, 1000);
    });
}

#[test]
fn listing_what_is_not_a_directory_is_an_error() {
    multi_thread(2).block_on(async {
        let dir = TempDir::new();
        let path = dir.file("file", "");
        assert_eq!(fs::read_dir(&path).await.unwrap_err().kind(), ErrorKind::NotADirectory);
        assert_eq!(
            fs::read_dir(dir.join("nothing")).await.unwrap_err().kind(),
            ErrorKind::NotFound
        );
    });
}
