//! The triangles and doc values of shapes.

use super::bytes::Groups;
use crate::build::values::Shapes;
use crate::fields::field::Field;
use crate::formats::doc_values::DocValuesWriter;
use crate::formats::points::PointsWriter;

/// Adds what is kept of the shapes of a field.
pub(super) fn add_shapes(
    number: u32,
    field: &Field,
    shapes: &mut Shapes,
    max_doc: u32,
    (doc_values, points): (&mut DocValuesWriter, &mut PointsWriter),
) {
    let docs = shapes.docs.finish(max_doc);
    let doc = |i: usize| docs.map_or(i as u32, |docs| docs[i]);
    let sortable = |number: i32| number as u32 ^ 1 << 31;
    let triangles = shapes.triangles.iter().enumerate().map(|(i, triangle)| (triangle.map(sortable), doc(i)));
    let count = Groups::new(docs, shapes.triangles.len()).len() as u32;
    points.add_tree::<_, 7, 4>(number, triangles.collect(), count);
    if field.doc_values {
        let (count, values) = (shapes.values.len(), &mut shapes.values);
        let groups = Groups::new(values.docs.finish(max_doc), count);
        let values = &*values;
        doc_values.add_binary(number, groups.docs(max_doc), |visit| {
            (0..count).for_each(|at| visit(values.get(at)));
        });
    }
}
