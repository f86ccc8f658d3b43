//! Times of a query have a zone, and functions that read dates and times.
//!
//! DataFusion converts a text with a zone to UTC and forgets the zone, so a reader of the document
//! takes the time for a local one. Here times that are made of text or numbers are in UTC and say
//! so ([`Zones`]). A text without a zone is in UTC, or in the zone of an `AT TIME ZONE` around it.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, StringArray, make_array, new_null_array};
use arrow_schema::DataType;
use chrono::format::{Item, StrftimeItems};
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue, exec_err, plan_err};
use datafusion::functions::datetime::{to_date, to_time, to_timestamp};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{
    Cast, ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TryCast,
    Volatility,
};
use inrush_core::date_forms::{DayOrder, Moment};
use inrush_core::zone::Zone;

/// The zone of times that are made of text or numbers.
const UTC: &str = "UTC";

/// The zone of `now()` and of `TIMESTAMP WITH TIME ZONE`, which mean the same as [`UTC`]. The
/// spelling tells a cast that names a zone from one that does not.
pub(super) const SESSION: &str = "+00:00";

/// Functions that read dates and times, and their forms with `try_`, which are null where a value
/// is none.
pub(super) fn functions() -> Vec<ScalarUDF> {
    let of = |attempt| Function::ALL.map(move |function| Reader { function, attempt, zone: Arc::from(UTC) });
    of(false).into_iter().chain(of(true)).map(ScalarUDF::new_from_impl).collect()
}

/// A function of DataFusion that makes a date or time of text and numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Function {
    Date,
    Time,
    Timestamp,
    Seconds,
    Millis,
    Micros,
    Nanos,
}

impl Function {
    const ALL: [Function; 7] = [
        Function::Date,
        Function::Time,
        Function::Timestamp,
        Function::Seconds,
        Function::Millis,
        Function::Micros,
        Function::Nanos,
    ];

    /// The name with `try_` before it.
    fn name(self) -> &'static str {
        match self {
            Function::Date => "try_to_date",
            Function::Time => "try_to_time",
            Function::Timestamp => "try_to_timestamp",
            Function::Seconds => "try_to_timestamp_seconds",
            Function::Millis => "try_to_timestamp_millis",
            Function::Micros => "try_to_timestamp_micros",
            Function::Nanos => "try_to_timestamp_nanos",
        }
    }

    /// DataFusion's function, which takes texts without a zone to be in `zone`.
    fn inner(self, zone: &str) -> ScalarUDF {
        let mut config = ConfigOptions::default();
        config.execution.time_zone = Some(zone.to_owned());
        match self {
            Function::Date => to_date::ToDateFunc::new().into(),
            Function::Time => to_time::ToTimeFunc::new().into(),
            Function::Timestamp => to_timestamp::ToTimestampFunc::new_with_config(&config).into(),
            Function::Seconds => to_timestamp::ToTimestampSecondsFunc::new_with_config(&config).into(),
            Function::Millis => to_timestamp::ToTimestampMillisFunc::new_with_config(&config).into(),
            Function::Micros => to_timestamp::ToTimestampMicrosFunc::new_with_config(&config).into(),
            Function::Nanos => to_timestamp::ToTimestampNanosFunc::new_with_config(&config).into(),
        }
    }
}

/// One of the functions.
#[derive(Clone, Debug)]
struct Reader {
    function: Function,
    /// Whether a value that is no date or time is null, and not an error.
    attempt: bool,
    /// The zone of texts that have none.
    zone: Arc<str>,
}

impl Reader {
    /// The date or time of a row that DataFusion does not read. A time without a zone has that of
    /// the reader; of an hour that comes twice it is the first one.
    fn moment(&self, row: &[ScalarValue]) -> Option<Moment> {
        let (first, forms) = row.split_first()?;
        let text = match (first.try_as_str(), self.function) {
            (_, Function::Time) => return None,
            (Some(text), _) => text?.to_owned(),
            // The others name the unit of a number.
            (None, Function::Date | Function::Timestamp) => digits(first)?,
            (None, _) => return None,
        };
        let moment = match forms {
            [] => Moment::read(&text, DayOrder::Unknown)?,
            forms => forms.iter().find_map(|form| formed(&text, form.try_as_str()??))?,
        };
        match self.zone.parse::<Zone>() {
            Ok(zone) if self.function != Function::Date => moment.in_zone(&zone),
            _ => Some(moment),
        }
    }
}

impl PartialEq for Reader {
    fn eq(&self, other: &Self) -> bool {
        (self.function, self.attempt, &self.zone) == (other.function, other.attempt, &other.zone)
    }
}

impl Eq for Reader {}

impl Hash for Reader {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.function, self.attempt, &self.zone).hash(state);
    }
}

impl ScalarUDFImpl for Reader {
    fn name(&self) -> &str {
        let name = self.function.name();
        if self.attempt { name } else { name.trim_start_matches("try_") }
    }

    fn signature(&self) -> &Signature {
        static ANY: std::sync::LazyLock<Signature> =
            std::sync::LazyLock::new(|| Signature::variadic_any(Volatility::Immutable));
        &ANY
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        let returned = self.function.inner(&self.zone).inner().return_type(arguments)?;
        Ok(match (returned, arguments.first()) {
            // A time keeps its zone, and has none where it had none.
            (DataType::Timestamp(unit, _), Some(DataType::Timestamp(_, zone))) => {
                DataType::Timestamp(unit, zone.clone())
            }
            (returned, _) => returned,
        })
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let returned = arguments.return_type().clone();
        if let (DataType::Timestamp(..), Some(DataType::Timestamp(..))) =
            (&returned, arguments.args.first().map(ColumnarValue::data_type))
        {
            return arguments.args[0].cast_to(&returned, None);
        }
        let call = Call { reader: self, inner: self.function.inner(&self.zone), arguments: &arguments };
        if self.attempt {
            call.check()?;
        }
        match call.of(arguments.args.clone(), arguments.number_rows) {
            Ok(value) => zoned(value, &returned),
            Err(error) => call.by_row(error),
        }
    }
}

/// A call of a function.
struct Call<'a> {
    reader: &'a Reader,
    inner: ScalarUDF,
    arguments: &'a ScalarFunctionArgs,
}

impl Call<'_> {
    fn of(&self, args: Vec<ColumnarValue>, number_rows: usize) -> Result<ColumnarValue> {
        if let (Function::Timestamp, Some(first)) = (self.reader.function, args.first())
            && is_beyond(first)?
        {
            return exec_err!("{} takes seconds since 1970, and a number is out of range", self.reader.name());
        }
        // Not by the type of the function, which asserts the zone that `zoned` gives the result.
        self.inner.inner().invoke_with_args(ScalarFunctionArgs { args, number_rows, ..self.arguments.clone() })
    }

    /// Finds arguments that no value can be read with: types, and forms of dates that are none.
    fn check(&self) -> Result<()> {
        let mut none = self.arguments.args.clone();
        for form in none.iter().skip(1) {
            if let ColumnarValue::Scalar(form) = form
                && let Some(Some(form)) = form.try_as_str()
                && StrftimeItems::new(form).any(|item| matches!(item, Item::Error))
            {
                return exec_err!("{} cannot read dates by '{form}'", self.reader.name());
            }
        }
        if let Some(first) = none.first_mut() {
            *first = ColumnarValue::Array(first.to_array(1)?.slice(0, 0));
        }
        self.of(none, 0).map(drop)
    }

    /// The values of a call that failed as a whole.
    fn by_row(&self, error: DataFusionError) -> Result<ColumnarValue> {
        if let Some(values) = self.by_iso() {
            return Ok(values);
        }
        let args = &self.arguments.args;
        let constant = args.iter().all(|argument| matches!(argument, ColumnarValue::Scalar(_)));
        let rows = if constant { 1 } else { self.arguments.number_rows };
        let mut values: Vec<ArrayRef> = Vec::with_capacity(rows);
        for row in 0..rows {
            let row: Vec<ColumnarValue> = args.iter().map(|argument| at(argument, row)).collect();
            values.push(self.value(row)?.into_array(1)?);
        }
        let values: Vec<&dyn Array> = values.iter().map(AsRef::as_ref).collect();
        if values.is_empty() {
            return Err(error);
        }
        let values = datafusion::arrow::compute::concat(&values)?;
        Ok(match constant {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&values, 0)?),
            false => ColumnarValue::Array(values),
        })
    }

    /// The values of a column of texts, which are read at once, each in ISO 8601. `None`: there are
    /// forms, or rows that have to be read by themselves.
    fn by_iso(&self) -> Option<ColumnarValue> {
        let [ColumnarValue::Array(texts)] = self.arguments.args.as_slice() else { return None };
        let texts: &StringArray = texts.as_string_opt()?;
        let iso = |text: &str| -> Option<String> {
            let row = [ScalarValue::Utf8(Some(text.to_owned()))];
            if let Some(moment) = self.reader.moment(&row) {
                return Some(moment.iso());
            }
            let [value] = row;
            let is_none = self.reader.attempt && self.of(vec![ColumnarValue::Scalar(value)], 1).is_err();
            (!is_none).then(|| text.to_owned())
        };
        let read: StringArray = texts.iter().map(|text| iso(text?)).collect();
        let values = self.of(vec![ColumnarValue::Array(Arc::new(read))], texts.len()).ok()?;
        zoned(values, self.arguments.return_type()).ok()
    }

    /// The value of a row. Where DataFusion finds none there may be one: of a form of
    /// `--timestamp`, of a year that has no nanoseconds, or of an hour that comes twice.
    fn value(&self, row: Vec<ColumnarValue>) -> Result<ColumnarValue> {
        let returned = self.arguments.return_type();
        let error = match self.of(row.clone(), 1) {
            Ok(value) => return zoned(value, returned),
            Err(error) => error,
        };
        let values: Vec<ScalarValue> = row.iter().map(scalar).collect::<Result<_>>()?;
        match (self.reader.moment(&values), values.first()) {
            (Some(moment), Some(first)) => {
                // A cast reads more years than a function does. The day of a time is that of UTC.
                let cast = ScalarValue::Utf8(Some(moment.iso())).cast_to(returned);
                cast.map(ColumnarValue::Scalar)
                    .map_err(|_| DataFusionError::Execution(format!("Time out of range: '{first}'")))
            }
            _ if self.reader.attempt => Ok(ColumnarValue::Array(new_null_array(returned, 1))),
            _ => Err(named(error, &row)),
        }
    }
}

/// Whether there is a float that DataFusion would change to the first or last nanosecond.
fn is_beyond(seconds: &ColumnarValue) -> Result<bool> {
    if !seconds.data_type().is_floating() {
        return Ok(false);
    }
    let seconds = seconds.cast_to(&DataType::Float64, None)?.into_array(1)?;
    let mut seconds = seconds.as_primitive::<Float64Type>().iter().flatten();
    Ok(seconds.any(|seconds| !seconds.is_finite() || seconds.abs() > 9.2e9))
}

/// A number without an exponent.
fn digits(number: &ScalarValue) -> Option<String> {
    match number {
        ScalarValue::Float64(number) => number.map(|number| number.to_string()),
        number if number.data_type().is_numeric() => {
            Some(number.cast_to(&DataType::Utf8).ok()?.try_as_str()??.to_owned())
        }
        _ => None,
    }
}

/// The date or time of a text of this form. The names of zones are DataFusion's alone.
fn formed(text: &str, form: &str) -> Option<Moment> {
    if form.contains("%Z") {
        return None;
    }
    let iso = match DateTime::parse_from_str(text, form) {
        Ok(time) => time.to_rfc3339(),
        Err(_) => {
            let day = || NaiveDate::parse_from_str(text, form).map(|day| day.and_time(NaiveTime::MIN));
            let time = NaiveDateTime::parse_from_str(text, form).or_else(|_| day()).ok()?;
            time.format("%Y-%m-%dT%H:%M:%S%.f").to_string()
        }
    };
    Moment::read(&iso, DayOrder::Unknown)
}

/// One row of an argument.
fn at(argument: &ColumnarValue, row: usize) -> ColumnarValue {
    match argument {
        ColumnarValue::Array(array) => ColumnarValue::Array(array.slice(row, 1)),
        constant => constant.clone(),
    }
}

fn scalar(of: &ColumnarValue) -> Result<ScalarValue> {
    match of {
        ColumnarValue::Array(array) => ScalarValue::try_from_array(array, 0),
        ColumnarValue::Scalar(scalar) => Ok(scalar.clone()),
    }
}

/// An error that names the value of the row, as `wrong::running` expects it.
fn named(error: DataFusionError, row: &[ColumnarValue]) -> DataFusionError {
    let text = error.strip_backtrace();
    let Some(Ok(value)) = row.first().map(scalar) else { return error };
    let constant = row.iter().all(|argument| matches!(argument, ColumnarValue::Scalar(_)));
    if constant || text.contains("Error parsing timestamp from '") {
        return error;
    }
    DataFusionError::Execution(format!("Error parsing timestamp from '{value}'"))
}

/// A time with the zone of its type. DataFusion's functions forget it for columns.
fn zoned(value: ColumnarValue, returned: &DataType) -> Result<ColumnarValue> {
    match value {
        ColumnarValue::Array(array) if array.data_type() != returned => {
            let data = array.to_data().into_builder().data_type(returned.clone()).build()?;
            Ok(ColumnarValue::Array(make_array(data)))
        }
        value => Ok(value),
    }
}

/// Gives times that are made of text or of seconds their zone.
#[derive(Debug)]
pub(super) struct Zones;

impl FunctionRewrite for Zones {
    fn name(&self) -> &str {
        "zones_of_times"
    }

    /// Called before DataFusion gives both sides of an operator the same type, for inner
    /// expressions first.
    fn rewrite(&self, expression: Expr, schema: &DFSchema, _: &ConfigOptions) -> Result<Transformed<Expr>> {
        Ok(match expression {
            Expr::Cast(Cast { expr, field }) => match target(&expr, field.data_type(), schema) {
                Some((expr, target)) => Transformed::yes(Expr::Cast(Cast::new(Box::new(expr), target))),
                None => {
                    check_zone(&expr, field.data_type(), schema)?;
                    Transformed::no(Expr::Cast(Cast { expr, field }))
                }
            },
            Expr::TryCast(TryCast { expr, field }) => match target(&expr, field.data_type(), schema) {
                Some((expr, target)) => Transformed::yes(Expr::TryCast(TryCast::new(Box::new(expr), target))),
                None => {
                    check_zone(&expr, field.data_type(), schema)?;
                    Transformed::no(Expr::TryCast(TryCast { expr, field }))
                }
            },
            Expr::ScalarFunction(mut call) if call.func.name() == "from_unixtime" && call.args.len() == 1 => {
                call.args.push(Expr::Literal(ScalarValue::Utf8(Some(UTC.to_owned())), None));
                Transformed::yes(Expr::ScalarFunction(call))
            }
            other => Transformed::no(other),
        })
    }
}

/// What is cast to which type, instead of `of` to `to`.
fn target(of: &Expr, to: &DataType, schema: &DFSchema) -> Option<(Expr, DataType)> {
    let DataType::Timestamp(unit, zone) = to else { return None };
    let zone = match zone {
        None => return is_text(of, schema).then(|| (of.clone(), DataType::Timestamp(*unit, Some(Arc::from(UTC))))),
        Some(zone) => zone,
    };
    match of {
        // The text of `CAST(text AS TIMESTAMP) AT TIME ZONE 'zone'` is in that zone.
        Expr::Cast(Cast { expr, field }) | Expr::TryCast(TryCast { expr, field })
            if is_utc(field.data_type()) && is_text(expr, schema) =>
        {
            let to = DataType::Timestamp(*unit, Some(Arc::clone(zone)));
            let cast = match of {
                Expr::Cast(_) => Expr::Cast(Cast::new(expr.clone(), to.clone())),
                _ => Expr::TryCast(TryCast::new(expr.clone(), to.clone())),
            };
            Some((cast, to))
        }
        other => {
            let (reader, args) = reading(other, schema)?;
            let reader = Reader { zone: Arc::clone(zone), ..reader.clone() };
            Some((ScalarUDF::new_from_impl(reader).call(args.to_vec()), to.clone()))
        }
    }
}

/// Refuses a zone around an expression with a text that was read in UTC already: `AT TIME ZONE`
/// would not be about the text, as it is at the reader itself.
fn check_zone(of: &Expr, to: &DataType, schema: &DFSchema) -> Result<()> {
    let DataType::Timestamp(_, Some(zone)) = to else { return Ok(()) };
    if [UTC, SESSION, "Z"].contains(&&**zone) {
        return Ok(());
    }
    of.apply(|part| {
        // Conditions have no part in the time.
        if part.get_type(schema).is_ok_and(|of| !matches!(of, DataType::Timestamp(..))) {
            return Ok(TreeNodeRecursion::Jump);
        }
        let reader = match part {
            Expr::Cast(Cast { expr, field }) | Expr::TryCast(TryCast { expr, field }) => {
                if !is_utc(field.data_type()) || !is_text(expr, schema) {
                    // It says which zone it means.
                    return Ok(TreeNodeRecursion::Jump);
                }
                if matches!(part, Expr::Cast(_)) { "CAST" } else { "TRY_CAST" }
            }
            other => match reading(other, schema) {
                Some((reader, _)) => reader.name(),
                None => return Ok(TreeNodeRecursion::Continue),
            },
        };
        plan_err!("AT TIME ZONE '{zone}' is around {reader} of a text")
    })
    .map(drop)
}

fn is_utc(of: &DataType) -> bool {
    matches!(of, DataType::Timestamp(_, Some(zone)) if **zone == *UTC)
}

/// The function and the arguments of a call that reads a text.
fn reading<'e>(call: &'e Expr, schema: &DFSchema) -> Option<(&'e Reader, &'e [Expr])> {
    let Expr::ScalarFunction(ScalarFunction { func, args }) = call else { return None };
    let reader: &Reader = (func.inner().as_ref() as &dyn std::any::Any).downcast_ref()?;
    let of_text = args.first()?.get_type(schema).is_ok_and(|of| of.is_string());
    of_text.then_some((reader, args.as_slice()))
}

/// Whether an expression is a text that may have a zone. A constant of the query without one stays
/// without one.
fn is_text(expression: &Expr, schema: &DFSchema) -> bool {
    match expression {
        Expr::Literal(ScalarValue::Utf8(Some(text)), _) => {
            Moment::read(text, DayOrder::Unknown).is_some_and(|moment| moment.has_zone())
        }
        // An expression without a type is reported later, with its position.
        other => other.get_type(schema).is_ok_and(|of| of.is_string()),
    }
}
