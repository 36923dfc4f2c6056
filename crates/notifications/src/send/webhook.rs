//! Signed webhooks, as Standard Webhooks specifies them: the id of the delivery, the time and a signature of both with the
//! body are headers.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use cynode_domain::ids::NoticeDeliveryId;
use cynode_domain::notice::NoticeMessage;
use http::header::CONTENT_TYPE;
use reqwest::{Client, RequestBuilder, Url};
use serde_json::json;

use super::SendFailure;
use crate::target::decode_secret;

/// The id of the delivery, the same for every attempt.
pub const ID_HEADER: &str = "webhook-id";
/// The time of the attempt, in seconds since 1970.
pub const TIMESTAMP_HEADER: &str = "webhook-timestamp";
pub const SIGNATURE_HEADER: &str = "webhook-signature";

pub(crate) fn request(
    client: &Client,
    url: &Url,
    secret: &str,
    id: NoticeDeliveryId,
    message: &NoticeMessage,
    now: DateTime<Utc>,
) -> Result<RequestBuilder, SendFailure> {
    let body = json!({
        "id": id,
        "type": format!("cynode.{}", message.kind),
        "timestamp": message.occurred_at,
        "data": message,
    })
    .to_string();
    let key = decode_secret(secret)
        .ok_or_else(|| SendFailure::new("the secret of the channel is damaged: add it again"))?;
    let (id, timestamp) = (id.to_string(), now.timestamp());
    let signature = sign(&key, &id, timestamp, body.as_bytes());
    Ok(client
        .post(url.clone())
        .header(CONTENT_TYPE, "application/json")
        .header(ID_HEADER, id)
        .header(TIMESTAMP_HEADER, timestamp.to_string())
        .header(SIGNATURE_HEADER, signature)
        .body(body))
}

/// The signature of a delivery: `v1,` and base64 of HMAC-SHA256 over `{id}.{timestamp}.{body}`.
pub fn sign(key: &[u8], id: &str, timestamp: i64, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    let mut context = hmac::Context::with_key(&key);
    context.update(format!("{id}.{timestamp}.").as_bytes());
    context.update(body);
    format!("v1,{}", STANDARD.encode(context.sign().as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_that_of_the_specification() {
        let key = decode_secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();

        let signature =
            sign(&key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);

        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
