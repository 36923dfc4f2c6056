//! How knowledge is printed.

use cynode_wire::knowledge::{
    DeletedDocuments, DocumentView, KnowledgeHit, KnowledgeHits, KnowledgeOverview,
};
use cynode_wire::page::Page;

use cynode_cli::out::RenderContext;
use cynode_cli::{relative_time, table};

/// Each passage with its score and citation, and its text below.
pub(super) fn hits(found: &KnowledgeHits, _: RenderContext) -> String {
    if found.items.is_empty() {
        return "nothing found".to_owned();
    }
    found.items.iter().map(hit).collect::<Vec<_>>().join("\n\n")
}

fn hit(hit: &KnowledgeHit) -> String {
    let heading = if hit.heading.is_empty() { String::new() } else { format!("  {}", hit.heading) };
    let lines: Vec<String> = hit.text.lines().map(|line| format!("    {line}")).collect();
    let text = lines.join("\n");
    format!("{:.3}  {}/{}{heading}\n{text}", hit.score, hit.source, hit.citation)
}

pub(super) fn page(page: &Page<DocumentView>, ctx: RenderContext) -> String {
    let rows = page.items.iter().map(|view| {
        vec![
            view.source.clone(),
            view.path.clone(),
            view.kind.to_string(),
            view.passages.to_string(),
            view.bytes.to_string(),
            view.author.to_string(),
            relative_time::format_relative(ctx.now, view.updated_at),
        ]
    });
    let head = ["SOURCE", "PATH", "KIND", "PASSAGES", "BYTES", "AUTHOR", "CHANGED"];
    table::render_table(&head, rows, ctx)
}

pub(super) fn overview(overview: &KnowledgeOverview, ctx: RenderContext) -> String {
    let rows = overview.sources.iter().map(|source| {
        vec![
            source.source.clone(),
            source.documents.to_string(),
            source.passages.to_string(),
            source.bytes.to_string(),
            relative_time::format_relative(ctx.now, source.updated_at),
        ]
    });
    let sources =
        table::render_table(&["SOURCE", "DOCUMENTS", "PASSAGES", "BYTES", "CHANGED"], rows, ctx);
    let KnowledgeOverview { documents, passages, bytes, backend, .. } = overview;
    format!(
        "{sources}\n{documents} documents, {passages} passages, {bytes} bytes; backend {backend}"
    )
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as every function that renders")]
pub(super) fn deleted(deleted: &DeletedDocuments, _: RenderContext) -> String {
    match deleted.deleted {
        1 => "1 document deleted".to_owned(),
        more => format!("{more} documents deleted"),
    }
}
