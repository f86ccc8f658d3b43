//! The tutorial of embeddings with a real server. Vectors and question are those of its model.

use serde_json::Value;

use crate::program::inrush;
use crate::server::{Server, Version};

const PAGE: &str = include_str!("../../../../docs/tutorials/embeddings.md");
const VECTORS: &[u8] = include_bytes!("embeddings/titles.npy");
const QUESTION: &str = include_str!("embeddings/question.json");

#[tokio::test(flavor = "multi_thread")]
async fn titles_are_found_by_meaning() {
    let server = Server::shared(Version::Elasticsearch8).await;
    let folder = tempfile::tempdir().unwrap();
    let titles = PAGE.split("```csv\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    std::fs::write(folder.path().join("titles.csv"), titles).unwrap();
    std::fs::write(folder.path().join("titles.npy"), VECTORS).unwrap();
    let command = PAGE.lines().find(|line| line.starts_with("inrush load")).unwrap();
    let arguments = command.replace("--index titles", "--index embeddings-titles");
    let arguments = arguments.replace("http://localhost:9200", &server.url());
    let output = inrush().current_dir(&folder).args(arguments.split(' ').skip(1)).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert_eq!(server.count("embeddings-titles").await, 8);

    let question: Value = serde_json::from_str(QUESTION).unwrap();
    let found = server.send("POST", "/embeddings-titles/_search", question).await;
    let hits = found["hits"]["hits"].as_array().unwrap();
    let titles: Vec<_> = hits.iter().map(|hit| hit["_source"]["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["Fishing boats at dawn", "The harbour at night", "A ship in a storm"]);
}
