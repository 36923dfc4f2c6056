//! The canonical list of requirement ids, kept apart from the file that is checked against it.

/// Numbered families: the prefix, and how many there are.
const FAMILIES: &[(&str, u32)] = &[("PMA", 19), ("GRD", 18), ("WFL", 11), ("PMO", 14), ("X", 9)];

/// The gateway's ids keep the numbers they were given: two principles, then the details.
const GATEWAY: &[std::ops::RangeInclusive<u32>] = &[1..=2, 100..=116];

/// Every id there must be.
pub fn ids() -> Vec<String> {
    let numbered = FAMILIES
        .iter()
        .flat_map(|(prefix, count)| (1..=*count).map(move |n| format!("{prefix}-{n:02}")));
    let gateway = GATEWAY.iter().cloned().flatten().map(|n| format!("REQ-MCPGAT-{n:04}"));
    numbered.chain(gateway).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_names_each_id_once() {
        let ids = ids();
        let distinct: std::collections::BTreeSet<&String> = ids.iter().collect();

        assert_eq!(distinct.len(), ids.len());
        assert_eq!(ids.len(), 90);
        for id in
            ["PMA-19", "GRD-01", "WFL-11", "PMO-14", "X-09", "REQ-MCPGAT-0002", "REQ-MCPGAT-0116"]
        {
            assert!(ids.iter().any(|known| known == id), "{id}");
        }
    }
}
