//! Files and folders.

use super::{At, Site, same};
use std::io::SeekFrom;
use wakeful::fs::{self, File, OpenOptions};
use wakeful::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};

const TEXT: &[u8] = b"what is written is there";

pub fn files(site: &Site<'_>) -> Result<(), String> {
    let folder = site.folder.join("files");
    site.in_a_task(async move {
        // Removes what an operation that failed has left, if anything.
        let _ = fs::remove_dir_all(&folder).await;
        fs::create_dir(&folder).await.at("create_dir")?;
        let (path, copy) = (folder.join("a"), folder.join("b"));
        fs::write(&path, TEXT).await.at("fs::write")?;
        same("fs::read", fs::read(&path).await.at("fs::read")?, TEXT.to_vec())?;

        let mut file = File::open(&path).await.at("File::open")?;
        file.seek(SeekFrom::Start(8)).await.at("seek")?;
        let mut text = String::new();
        file.read_to_string(&mut text).await.at("read_to_string")?;
        same("end of the file", text.as_str(), "written is there")?;

        let mut options = OpenOptions::new();
        let mut file = options.append(true).open(&path).await.at("OpenOptions::open")?;
        file.write_all(&[b'!'; 100_000]).await.at("write_all")?;
        file.sync_all().await.at("sync_all")?;
        let len = file.metadata().await.at("metadata")?.len();
        same("length", len, TEXT.len() as u64 + 100_000)?;

        fs::copy(&path, &copy).await.at("fs::copy")?;
        let mut entries = fs::read_dir(&folder).await.at("read_dir")?;
        let mut names = Vec::new();
        while let Some(entry) = entries.next_entry().await.at("next_entry")? {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        same("names", names.join(" ").as_str(), "a b")?;
        fs::remove_dir_all(&folder).await.at("remove_dir_all")
    })
}
