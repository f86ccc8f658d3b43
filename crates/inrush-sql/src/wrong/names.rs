//! Unknown names, and ambiguous ones.

use datafusion::common::{Column, SchemaError};

use super::place::Place;
use super::{Case, Problem, listed, nearest, written};

impl Case<'_> {
    pub(super) fn schema(&self, error: &SchemaError) -> Problem {
        match error {
            SchemaError::FieldNotFound { field, valid_fields } => self.unknown_column(field, valid_fields),
            SchemaError::AmbiguousReference { field } if field.relation.is_none() => self.ambiguous(field),
            SchemaError::AmbiguousReference { field } => {
                same_names(&field.name).at(self.at.or_else(|| self.survey.alias(&field.name)))
            }
            SchemaError::DuplicateQualifiedField { qualifier, name } if self.twice(qualifier.table()) => {
                let table = qualifier.table();
                Problem::new(format!(
                    "two tables of the query are named {}, and both have {}",
                    written(table),
                    written(name)
                ))
                .hint("give each a name of its own: FROM input AS a JOIN input AS b")
            }
            SchemaError::DuplicateUnqualifiedField { name } if name.contains('(') => {
                Problem::new(format!("GROUP BY has {name}, which is computed from a group"))
                    .hint("group by columns; write a condition on a group in HAVING")
            }
            SchemaError::DuplicateQualifiedField { name, .. } | SchemaError::DuplicateUnqualifiedField { name } => {
                same_names(name).at(self.at)
            }
        }
    }

    fn twice(&self, called: &str) -> bool {
        self.survey.relations.iter().filter(|(name, _)| name == called).count() > 1
    }

    fn ambiguous(&self, field: &Column) -> Problem {
        let name = &field.name;
        let has = |table: &str| {
            let known = self.scene.tables.iter().find(|known| known.name == *table);
            known.is_some_and(|table| table.schema.field_with_name(name).is_ok())
        };
        let of = self.survey.relations.iter().filter(|(_, table)| has(table)).map(|(called, _)| called.as_str());
        let of: Vec<&str> = of.collect();
        let full: Vec<String> = of.iter().map(|of| format!("{}.{}", written(of), written(name))).collect();
        let problem = Problem::new(format!("{} is a column of several tables: {}", written(name), listed(of)));
        problem.at(self.at.or_else(|| self.survey.name(None, name))).hint(format!("write {}", full.join(" or ")))
    }

    fn unknown_column(&self, field: &Column, valid: &[Column]) -> Problem {
        let name = field.name.as_str();
        let relation = field.relation.as_ref().map(|relation| relation.table().to_owned());
        let spans = field.spans().first().map(Place::of);
        let at = self.at.or(spans).or_else(|| self.survey.name(relation.as_deref(), name)).or_else(|| self.word(name));
        let mut here: Vec<(Option<String>, String)> = Vec::new();
        for column in valid {
            let known = (column.relation.as_ref().map(|relation| relation.table().to_owned()), column.name.clone());
            if !here.contains(&known) {
                here.push(known);
            }
        }
        if let Some(of) = relation.as_ref().filter(|of| !here.iter().any(|(known, _)| known.as_ref() == Some(*of))) {
            // The column belongs to a query around this one, or does not exist.
            match self
                .scene
                .tables
                .iter()
                .find(|table| self.survey.relations.contains(&(of.clone(), table.name.clone())))
            {
                Some(table) => {
                    here = table.schema.fields().iter().map(|field| (relation.clone(), field.name().clone())).collect();
                }
                None => return self.unknown_relation(of, at),
            }
        }
        if let Some(of) = &relation {
            here.retain(|(known, _)| known.as_ref() == Some(of));
        }
        let full = relation.as_ref().map_or_else(|| written(name), |of| format!("{}.{}", written(of), written(name)));
        if here.is_empty() {
            return match self.survey.relations.is_empty() {
                true => Problem::new(format!("there is no column {full}, because the query has no FROM"))
                    .hint("add FROM input"),
                false => Problem::new(format!("{full} is a column, where only a constant can be"))
                    .hint("LIMIT and OFFSET take a number"),
            }
            .at(at);
        }
        let columns = || here.iter().map(|(_, name)| name.as_str());
        let like = nearest(name, columns());
        let quoted = at.and_then(|at| at.character(&self.scene.sql)) == Some('"');
        let hint = match like {
            Some(like) if like.to_lowercase() == name.to_lowercase() => {
                format!("upper and lower case are different in names: write {}", written(like))
            }
            _ if self.survey.alias(name).is_some() => format!(
                "{full} is given by the SELECT, which is computed after WHERE, GROUP BY and ON: \
                 repeat the expression there, or put the query into another one: SELECT … FROM (SELECT …) WHERE …"
            ),
            _ if quoted && like.is_none() => {
                format!("text is written in single quotes: '{name}'; double quotes are for names")
            }
            Some(like) => format!("did you mean {}? Columns here: {}", written(like), listed(columns())),
            None => format!("columns here: {}", listed(columns())),
        };
        Problem::new(format!("there is no column {full}")).at(at).hint(hint)
    }

    fn unknown_relation(&self, of: &str, at: Option<Place>) -> Problem {
        let here = self.survey.relations.iter().map(|(called, _)| called.as_str());
        let like =
            nearest(of, here.clone()).map_or_else(String::new, |like| format!("did you mean {}? ", written(like)));
        Problem::new(format!("there is no table {} in FROM", written(of)))
            .at(at)
            .hint(format!("{like}tables here: {}", listed(here)))
    }

    /// A table in FROM.
    pub(super) fn unknown_table(&self, name: &str) -> Problem {
        let known = || self.scene.tables.iter().map(|table| table.name.as_str());
        let tables = if self.scene.tables.is_empty() { "none".to_owned() } else { listed(known()) };
        let like = nearest(name, known()).map_or_else(String::new, |like| format!("did you mean {}? ", written(like)));
        let more = if name.contains(['.', '/']) {
            format!("give the file a name: option `table=name={name}`")
        } else {
            format!("option `table={name}=PATH` adds one")
        };
        Problem::new(format!("there is no table {}", written(name)))
            .at(self.at.or_else(|| self.word(name)))
            .hint(format!("{like}tables: {tables}; {more}"))
    }
}

/// Two fields of a document cannot have the same name.
pub(super) fn same_names(name: &str) -> Problem {
    Problem::new(format!("the result has two columns named {}", written(name)))
        .hint("give one of them another name with AS, because each is a field of the document")
}
