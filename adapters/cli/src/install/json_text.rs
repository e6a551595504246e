//! JSON text as a tree of byte ranges, so that one place can be edited and every other byte kept.
//!
//! It must never accept what a strict JSON reader refuses: comments, trailing commas, a byte order mark and a cut-off
//! text are errors, since guessing at them is how settings get lost.

use std::ops::Range;

use thiserror::Error;

/// Why a text is not strict JSON.
#[derive(Debug, Error)]
pub(crate) enum NotJson {
    /// It begins with a byte order mark.
    #[error("it begins with a byte order mark")]
    ByteOrderMark,
    /// It holds nothing.
    #[error("it is empty")]
    Empty,
    /// The reader refuses it.
    #[error("it is not strict JSON")]
    Syntax(#[source] serde_json::Error),
}

/// A value with its place in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    /// The bytes of the value.
    pub(crate) span: Range<usize>,
    /// What it is.
    pub(crate) kind: NodeKind,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NodeKind {
    /// An object's members in the order of the text.
    Object(Vec<Member>),
    /// An array's elements.
    Array(Vec<Node>),
    /// A string, unescaped.
    Text(String),
    /// A number, a boolean or null, as written.
    Scalar(String),
}

/// A member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    /// The bytes from the name's opening quote to the end of the value.
    pub(crate) span: Range<usize>,
    /// The name, unescaped.
    pub(crate) name: String,
    /// The value.
    pub(crate) value: Node,
}

impl Node {
    /// Returns the members of an object.
    pub(crate) fn members(&self) -> Option<&[Member]> {
        match &self.kind {
            NodeKind::Object(members) => Some(members),
            NodeKind::Array(_) | NodeKind::Text(_) | NodeKind::Scalar(_) => None,
        }
    }

    /// Returns the elements of an array.
    pub(crate) fn elements(&self) -> Option<&[Self]> {
        match &self.kind {
            NodeKind::Array(elements) => Some(elements),
            NodeKind::Object(_) | NodeKind::Text(_) | NodeKind::Scalar(_) => None,
        }
    }

    /// Returns the text of a string.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.kind {
            NodeKind::Text(text) => Some(text),
            NodeKind::Object(_) | NodeKind::Array(_) | NodeKind::Scalar(_) => None,
        }
    }

    /// Returns the value of the member `name` of an object. Where the name occurs twice the last one counts, as it does
    /// for JavaScript.
    pub(crate) fn member(&self, name: &str) -> Option<&Self> {
        self.members()?.iter().rev().find(|member| member.name == name).map(|member| &member.value)
    }

    /// Returns the places of the values directly below an object or array; a member's place includes its name.
    pub(crate) fn children(&self) -> Vec<Range<usize>> {
        match &self.kind {
            NodeKind::Object(members) => members.iter().map(|member| member.span.clone()).collect(),
            NodeKind::Array(elements) => elements.iter().map(|node| node.span.clone()).collect(),
            NodeKind::Text(_) | NodeKind::Scalar(_) => Vec::new(),
        }
    }
}

/// Reads `text`. It is nested at most 128 deep, the reader's own limit.
pub(crate) fn parse(text: &str) -> Result<Node, NotJson> {
    if text.starts_with('\u{feff}') {
        return Err(NotJson::ByteOrderMark);
    }
    if text.trim().is_empty() {
        return Err(NotJson::Empty);
    }
    // The strict reader judges; what follows only measures, and may rely on the judgement.
    serde_json::from_str::<serde_json::Value>(text).map_err(NotJson::Syntax)?;
    let mut scanner = Scanner { text, position: 0 };
    scanner.value().map_err(NotJson::Syntax)
}

struct Scanner<'a> {
    text: &'a str,
    position: usize,
}

impl Scanner<'_> {
    fn value(&mut self) -> Result<Node, serde_json::Error> {
        self.skip_blanks();
        let start = self.position;
        let kind = match self.peek() {
            Some(b'{') => NodeKind::Object(self.object()?),
            Some(b'[') => NodeKind::Array(self.array()?),
            Some(b'"') => NodeKind::Text(self.string()?),
            _ => NodeKind::Scalar(self.scalar()),
        };
        Ok(Node { span: start..self.position, kind })
    }

    fn object(&mut self) -> Result<Vec<Member>, serde_json::Error> {
        let mut members = Vec::new();
        while self.step_to_item(b'}') {
            let start = self.position;
            let name = self.string()?;
            self.skip_blanks();
            self.position += 1;
            let value = self.value()?;
            members.push(Member { span: start..self.position, name, value });
        }
        Ok(members)
    }

    fn array(&mut self) -> Result<Vec<Node>, serde_json::Error> {
        let mut elements = Vec::new();
        while self.step_to_item(b']') {
            elements.push(self.value()?);
        }
        Ok(elements)
    }

    /// Steps over an opening bracket or a comma to the next item, or over the closing bracket.
    fn step_to_item(&mut self, closing: u8) -> bool {
        self.skip_blanks();
        if self.peek() != Some(closing) {
            self.position += 1;
            self.skip_blanks();
        }
        match self.peek() {
            Some(byte) if byte != closing => true,
            Some(_) | None => {
                self.position += 1;
                false
            }
        }
    }

    fn string(&mut self) -> Result<String, serde_json::Error> {
        let start = self.position;
        let mut escaped = false;
        let length = self.text.as_bytes()[start..]
            .iter()
            .skip(1)
            .position(|byte| {
                let closes = *byte == b'"' && !escaped;
                escaped = *byte == b'\\' && !escaped;
                closes
            })
            .map_or(self.text.len() - start, |index| index + 2);
        self.position = start + length;
        serde_json::from_str(&self.text[start..self.position])
    }

    fn scalar(&mut self) -> String {
        let start = self.position;
        while let Some(byte) = self.peek() {
            if matches!(byte, b',' | b']' | b'}') || byte.is_ascii_whitespace() {
                break;
            }
            self.position += 1;
        }
        self.text[start..self.position].to_owned()
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.position += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.position).copied()
    }
}
