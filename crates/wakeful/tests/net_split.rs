//! Streams split into halves.

mod support;

use support::each_flavor;
use support::net::tcp_pair;
use wakeful::io::{AsyncReadExt, AsyncWriteExt};
use wakeful::net::UnixStream;

macro_rules! both_kinds {
    ($($name:ident($pair:expr);)+) => {$(
        #[test]
        fn $name() {
            for runtime in each_flavor() {
                runtime.block_on(async {
                    let (ours, mut theirs) = $pair;
                    let (mut reader, mut writer) = ours.into_split();
                    assert!(reader.as_ref().peer_addr().is_ok());
                    let writing = wakeful::spawn(async move {
                        writer.write_all(b"question").await.unwrap();
                        writer
                    });
                    let mut buf = [0; 8];
                    theirs.read_exact(&mut buf).await.unwrap();
                    assert_eq!(&buf, b"question");
                    theirs.write_all(b"answer").await.unwrap();
                    reader.readable().await.unwrap();
                    let mut answer = [0; 6];
                    reader.read_exact(&mut answer).await.unwrap();
                    assert_eq!(&answer, b"answer");

                    // Halves of different streams cannot be reunited, and the error returns both.
                    let (other, _other_peer) = $pair;
                    let (other_reader, other_writer) = other.into_split();
                    let writer = writing.await.unwrap();
                    let error = reader.reunite(other_writer).unwrap_err();
                    assert!(error.to_string().contains("not from the same socket"));
                    let (reader, other_writer) = (error.0, error.1);
                    other_reader.reunite(other_writer).unwrap();
                    let mut ours = writer.reunite(reader).unwrap();

                    // After `reunite` the stream is open as before.
                    ours.write_all(b"more").await.unwrap();
                    theirs.read_exact(&mut buf[..4]).await.unwrap();

                    // `forget` leaves the stream open; dropping the writing half shuts it down.
                    let (reader, writer) = ours.into_split();
                    writer.forget();
                    assert!(theirs.try_read(&mut buf).is_err());
                    theirs.write_all(b"!").await.unwrap();
                    drop(reader);
                    assert_eq!(theirs.read(&mut buf).await.unwrap_or(0), 0);

                    let (ours, mut theirs) = $pair;
                    let (mut reader, writer) = ours.into_split();
                    drop(writer);
                    assert_eq!(theirs.read(&mut buf).await.unwrap(), 0);
                    theirs.write_all(b"still").await.unwrap();
                    reader.read_exact(&mut buf[..5]).await.unwrap();

                    // After an explicit shutdown the drop does not shut it down again.
                    let (ours, mut theirs) = $pair;
                    let (_reader, mut writer) = ours.into_split();
                    writer.shutdown().await.unwrap();
                    assert_eq!(theirs.read(&mut buf).await.unwrap(), 0);
                    drop(writer);

                    // Dropping borrowed halves shuts down nothing.
                    let (mut ours, mut theirs) = $pair;
                    {
                        let (reader, mut writer) = ours.split();
                        writer.write_all(b"half").await.unwrap();
                        assert!(reader.try_read(&mut buf).is_err());
                    }
                    theirs.read_exact(&mut buf[..4]).await.unwrap();
                    ours.write_all(b"whole").await.unwrap();
                    theirs.read_exact(&mut buf[..5]).await.unwrap();
                    let (_reader, mut writer) = ours.split();
                    writer.shutdown().await.unwrap();
                    assert_eq!(theirs.read(&mut buf).await.unwrap(), 0);
                });
            }
        }
    )+};
}

both_kinds! {
    tcp_streams(tcp_pair().await);
    unix_streams(UnixStream::pair().unwrap());
}
