//! Connections to providers, through a relay in this process that counts what comes.
//!
//! `genai` reads the text of an error, and a single event, to the end before its size can be checked, and
//! `reqwest` has no bound for it. So connections are led through a SOCKS relay (RFC 1928) that cuts one on
//! which more has come than an answer may have. TLS goes through it unopened.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener as Socket};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Version of the protocol, and of its authentication by name and password (RFC 1929).
const VERSION: u8 = 5;
const AUTHENTICATION: u8 = 1;

/// The method of authentication by name and password.
const BY_PASSWORD: u8 = 2;

/// How much is passed on at once, in bytes.
const PIECE: usize = 16 << 10;

/// The relay of this process.
struct Relay {
    port: u16,
    /// Others on this machine do not know it, and cannot use the relay.
    name: String,
}

/// The address of the relay, for connections on which at most so many bytes come for a request.
///
/// # Errors
/// When nothing can listen on the loopback interface.
pub(super) fn address(max_bytes: u64) -> io::Result<String> {
    static RELAY: OnceLock<Result<Relay, io::ErrorKind>> = OnceLock::new();
    let relay = RELAY.get_or_init(|| Relay::start().map_err(|error| error.kind()));
    let Relay { port, name } = relay.as_ref().map_err(|kind| io::Error::from(*kind))?;
    Ok(format!("socks5h://{name}:{max_bytes}@127.0.0.1:{port}"))
}

impl Relay {
    /// Begins to listen, on a thread of its own: clients may outlive the runtime that made them.
    fn start() -> io::Result<Self> {
        let socket = Socket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.set_nonblocking(true)?;
        let port = socket.local_addr()?.port();
        let name = name();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let expected = name.clone();
        std::thread::Builder::new().name("eog-relay".to_owned()).spawn(move || {
            runtime.block_on(async {
                let Ok(listener) = TcpListener::from_std(socket) else { return };
                loop {
                    let Ok((client, _)) = listener.accept().await else {
                        tokio::task::yield_now().await;
                        continue;
                    };
                    let expected = expected.clone();
                    // How a connection ends, both ends see for themselves.
                    tokio::spawn(async move { serve(client, &expected).await });
                }
            });
        })?;
        Ok(Self { port, name })
    }
}

/// A name that cannot be guessed: the keys of the hash are random numbers of the system.
fn name() -> String {
    let random = RandomState::new();
    format!("{:016x}{:016x}", random.hash_one(0), random.hash_one(1))
}

async fn serve(mut client: TcpStream, expected: &str) -> io::Result<()> {
    client.set_nodelay(true)?;
    let max = greet(&mut client, expected).await?;
    let connected = match asked(&mut client).await? {
        Some((host, port)) => TcpStream::connect((host.as_str(), port)).await,
        None => Err(io::ErrorKind::Unsupported.into()),
    };
    let status = connected.as_ref().map_or_else(status, |_| 0);
    // The address that it is bound to is not needed.
    client.write_all(&[VERSION, status, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
    let mut server = connected?;
    server.set_nodelay(true)?;
    let since = AtomicU64::new(0);
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let there = pass(from_client, to_server, |_| {
        // A further request: what comes is its answer.
        since.store(0, Ordering::Relaxed);
        true
    });
    let back = pass(from_server, to_client, |bytes| {
        since.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) <= max
    });
    // Both ends are closed when nothing more comes, or too much did.
    tokio::select! {
        ended = back => ended,
        ended = async {
            there.await?;
            std::future::pending().await
        } => ended,
    }
}

/// The SOCKS handshake: which client asks, and how many bytes may come for a request.
async fn greet(client: &mut TcpStream, expected: &str) -> io::Result<u64> {
    let refused = || io::Error::from(io::ErrorKind::PermissionDenied);
    let version = client.read_u8().await?;
    let methods = text(client).await?;
    if version != VERSION || !methods.contains(&BY_PASSWORD) {
        client.write_all(&[VERSION, 0xff]).await?;
        return Err(refused());
    }
    client.write_all(&[VERSION, BY_PASSWORD]).await?;
    let version = client.read_u8().await?;
    let (name, password) = (text(client).await?, text(client).await?);
    let max = std::str::from_utf8(&password).ok().and_then(|text| text.parse().ok());
    match max {
        Some(max) if version == AUTHENTICATION && name == expected.as_bytes() => {
            client.write_all(&[AUTHENTICATION, 0]).await?;
            Ok(max)
        }
        _ => {
            client.write_all(&[AUTHENTICATION, 1]).await?;
            Err(refused())
        }
    }
}

/// Where a client wants to be connected to; nothing for what is no such question.
async fn asked(client: &mut TcpStream) -> io::Result<Option<(String, u16)>> {
    let mut head = [0; 4];
    client.read_exact(&mut head).await?;
    let [_version, command, _reserved, kind] = head;
    let host = match kind {
        1 => Ipv4Addr::from(client.read_u32().await?).to_string(),
        3 => String::from_utf8_lossy(&text(client).await?).into_owned(),
        4 => Ipv6Addr::from(client.read_u128().await?).to_string(),
        _ => return Ok(None),
    };
    let port = client.read_u16().await?;
    Ok((command == 1).then_some((host, port)))
}

/// Up to 255 bytes, after how many they are.
async fn text(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::from(client.read_u8().await?)];
    client.read_exact(&mut bytes).await?;
    Ok(bytes)
}

fn status(error: &io::Error) -> u8 {
    match error.kind() {
        io::ErrorKind::NetworkUnreachable => 3,
        io::ErrorKind::HostUnreachable => 4,
        io::ErrorKind::ConnectionRefused => 5,
        io::ErrorKind::Unsupported => 7,
        _ => 1,
    }
}

/// Passes on what comes, as long as it is allowed.
async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    may_pass: impl Fn(u64) -> bool,
) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        let length = from.read(&mut piece).await?;
        if length == 0 {
            return to.shutdown().await;
        }
        if !may_pass(length as u64) {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        to.write_all(piece.get(..length).unwrap_or_default()).await?;
    }
}
