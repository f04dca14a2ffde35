//! Sockets and pipes within this machine.

use super::{At, Site, same};
use wakeful::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use wakeful::net::unix::pipe as unix_pipe;
use wakeful::net::{TcpListener, TcpStream, UdpSocket, UnixListener, UnixStream};

const LOOPBACK: &str = "127.0.0.1:0";

/// The size of a message: more than a socket's buffer, so that both sides have to wait.
const MANY: usize = 1 << 20;

pub fn tcp(site: &Site<'_>) -> Result<(), String> {
    site.in_a_task(async {
        let listener = TcpListener::bind(LOOPBACK).await.at("TcpListener::bind")?;
        let address = listener.local_addr().at("local_addr")?;
        let server = async {
            let (stream, _) = listener.accept().await.at("TcpListener::accept")?;
            echo(stream).await
        };
        let client = async {
            let stream = TcpStream::connect(address).await.at("TcpStream::connect")?;
            stream.set_nodelay(true).at("set_nodelay")?;
            ask(stream, MANY).await
        };
        wakeful::try_join!(server, client).map(|_| ())
    })
}

pub fn unix(site: &Site<'_>) -> Result<(), String> {
    let path = site.folder.join("socket");
    site.in_a_task(async move {
        let (one, other) = UnixStream::pair().at("UnixStream::pair")?;
        wakeful::try_join!(echo(other), ask(one, 1_000))?;

        // Removes what an operation that failed has left, if anything.
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).at("UnixListener::bind")?;
        let server = async {
            let (stream, _) = listener.accept().await.at("UnixListener::accept")?;
            echo(stream).await
        };
        let client =
            async { ask(UnixStream::connect(&path).await.at("UnixStream::connect")?, MANY).await };
        wakeful::try_join!(server, client).map(|_| ())
    })
}

/// Sends back everything that it receives.
async fn echo<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S) -> Result<(), String> {
    let mut buffer = vec![0; 8 * 1024];
    loop {
        match stream.read(&mut buffer).await.at("read")? {
            0 => return stream.shutdown().await.at("shutdown"),
            count => stream.write_all(&buffer[..count]).await.at("write_all")?,
        }
    }
}

/// Sends `len` bytes to a peer that echoes them, and checks the echo.
async fn ask<S: AsyncRead + AsyncWrite>(stream: S, len: usize) -> Result<(), String> {
    let (mut reader, mut writer) = wakeful::io::split(stream);
    let sent: Vec<u8> = (0..len).map(|n| n as u8).collect();
    let writes = async {
        writer.write_all(&sent).await.at("write_all")?;
        writer.shutdown().await.at("shutdown")
    };
    let mut received = Vec::new();
    let reads = async { reader.read_to_end(&mut received).await.at("read_to_end") };
    wakeful::try_join!(writes, reads)?;
    same("echo", received == sent, true)
}

pub fn udp(site: &Site<'_>) -> Result<(), String> {
    site.in_a_task(async {
        let one = UdpSocket::bind(LOOPBACK).await.at("UdpSocket::bind")?;
        let other = UdpSocket::bind(LOOPBACK).await.at("UdpSocket::bind")?;
        let address = other.local_addr().at("local_addr")?;
        let server = async {
            let mut buffer = [0; 64];
            for _ in 0..10 {
                let (count, from) = other.recv_from(&mut buffer).await.at("recv_from")?;
                other.send_to(&buffer[..count], from).await.at("send_to")?;
            }
            Ok(())
        };
        let client = async {
            one.connect(address).await.at("UdpSocket::connect")?;
            for n in 0..10_u8 {
                one.send(&[n; 5]).await.at("send")?;
                let mut buffer = [0; 64];
                let count = one.recv(&mut buffer).await.at("recv")?;
                same("datagram", &buffer[..count], &[n; 5][..])?;
            }
            Ok(())
        };
        wakeful::try_join!(server, client).map(|_| ())
    })
}

pub fn pipe(site: &Site<'_>) -> Result<(), String> {
    site.in_a_task(async {
        let (mut sender, mut receiver) = unix_pipe::pipe().at("pipe")?;
        let writes = wakeful::spawn(async move { sender.write_all(&[5; 200_000]).await });
        let mut received = Vec::new();
        receiver.read_to_end(&mut received).await.at("read_to_end")?;
        writes.await.map_err(|error| error.to_string())?.at("write_all")?;
        same("bytes through the pipe", received.len(), 200_000)
    })
}
