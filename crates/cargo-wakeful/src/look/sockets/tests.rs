use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use super::{Socket, is_private, own_user, start_of};

#[test]
fn names_of_sockets_are_parsed() {
    let parse = |name: &str| Socket::parse(PathBuf::from("/folder").join(name));
    let socket = parse("4711-123456.sock").unwrap();
    assert_eq!((socket.pid, socket.start), (4711, 123_456));
    for other in ["4711.sock", "4711-12.txt", "x-12.sock", "4711-12.sock.old", "-.sock"] {
        assert_eq!(parse(other), None, "{other}");
    }
}

#[test]
fn only_a_folder_of_the_user_alone_counts() {
    let folder = std::env::temp_dir().join(format!("wakeful-private-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    let mode = |bits| fs::set_permissions(&folder, fs::Permissions::from_mode(bits)).unwrap();
    mode(0o700);
    assert!(is_private(&folder, own_user()));
    assert!(!is_private(&folder, own_user() + 1));
    mode(0o710);
    assert!(!is_private(&folder, own_user()));
    mode(0o700);
    let link = folder.join("link");
    symlink(&folder, &link).unwrap();
    assert!(!is_private(&link, own_user()));
    fs::remove_dir_all(&folder).unwrap();
    assert!(!is_private(&folder, own_user()));
}

#[test]
fn the_start_of_a_process_is_known() {
    assert!(start_of(std::process::id()).is_some());
    assert_eq!(start_of(u32::MAX), None);
}
