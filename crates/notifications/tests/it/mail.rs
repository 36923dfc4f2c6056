//! Mail through a real dialogue.

use cynode_domain::notice::DeliveryStatus;
use cynode_notifications::NotificationError;
use cynode_testkit::query;
use cynode_wire::credentials::GivenSecret;
use cynode_wire::notifications::{ChannelTarget, SmtpSettings, SmtpTls};

use crate::engines::on_each_engine;
use crate::smtp_server::SmtpServer;
use crate::world::{NotifierWorld, channel};

on_each_engine! {
    a_mail_is_encrypted_authenticated_and_says_what_waits,
    a_name_cannot_add_headers_or_end_the_mail,
    a_server_that_does_not_encrypt_gets_no_mail,
    a_rejected_mail_is_sent_again_with_its_id,
    only_an_administrator_sets_the_mail_server,
}

fn settings(server: &SmtpServer, tls: SmtpTls) -> SmtpSettings {
    SmtpSettings {
        host: "localhost".to_owned(),
        port: server.port,
        tls,
        username: None,
        password: None,
        from: "CyNode <cynode@example.com>".to_owned(),
        allowed_domains: vec!["example.com".to_owned()],
        ca_pem: server.authority.clone(),
    }
}

async fn mail_channel(world: &NotifierWorld) {
    let target = ChannelTarget::Email { address: "alice@example.com".to_owned() };
    world.service.create_channel(&world.alice, channel("mail", target)).await.unwrap();
}

async fn a_mail_is_encrypted_authenticated_and_says_what_waits() {
    let (world, server) = (NotifierWorld::new().await, SmtpServer::starttls().await);
    let login = SmtpSettings {
        username: Some("robot".to_owned()),
        password: Some(GivenSecret("open sesame".to_owned())),
        ..settings(&server, SmtpTls::Starttls)
    };
    let shown = world.service.set_mail_server(&world.admin, login).await.unwrap();
    mail_channel(&world).await;
    let request = world.request(&world.alice, "add-toggle").await;

    world.ask(&world.alice, request, "which colour?\n.\nline").await;
    world.notifier().run_until_idle().await.unwrap();

    let mails = server.mails();
    assert_eq!(mails.len(), 1);
    let mail = &mails[0];
    assert!(mail.is_encrypted);
    assert_eq!(mail.login, Some(("robot".to_owned(), "open sesame".to_owned())));
    assert_eq!(
        (mail.from.as_str(), &*mail.to),
        ("cynode@example.com", &["alice@example.com".to_owned()][..])
    );
    assert_eq!(mail.header("Subject"), ["[CyNode] Request add-toggle asks a question"]);
    assert_eq!(mail.header("Auto-Submitted"), ["auto-generated"]);
    assert!(mail.data.contains("> which colour?\r\n> .\r\n> line\r\n"), "{}", mail.data);
    assert!(mail.data.contains("cynork pm show add-toggle"), "{}", mail.data);
    let delivered = world.deliveries(&world.alice, Some(DeliveryStatus::Delivered)).await;
    assert_eq!(mail.header("Message-ID"), [format!("<{}@example.com>", delivered[0].id)]);
    assert!(shown.has_password);
    let sealed = query(&world.database.url, "SELECT sealed FROM sealed_values").await;
    assert!(sealed.iter().flatten().all(|value| !value.contains("sesame")));
    // The password is kept as long as host and user name are the same.
    let kept =
        SmtpSettings { username: Some("robot".to_owned()), ..settings(&server, SmtpTls::Starttls) };
    assert!(world.service.set_mail_server(&world.admin, kept.clone()).await.unwrap().has_password);
    let moved = SmtpSettings { host: "mail.example.com".to_owned(), ..kept };
    assert!(world.service.set_mail_server(&world.admin, moved).await.is_err());
}

async fn a_name_cannot_add_headers_or_end_the_mail() {
    let (world, server) = (NotifierWorld::new().await, SmtpServer::plain().await);
    let plain = settings(&server, SmtpTls::None);
    world.service.set_mail_server(&world.admin, plain).await.unwrap();
    mail_channel(&world).await;
    let name = "x\r\nBcc: all@example.com\r\n\r\n.\r\nMAIL FROM:<evil@example.com>";
    let request = world.request(&world.alice, name).await;

    world.ask(&world.alice, request, "a\r\n.\r\nQUIT\r\n\u{0}b\u{202e}").await;
    world.notifier().run_until_idle().await.unwrap();

    let mails = server.mails();
    assert_eq!(mails.len(), 1);
    assert_eq!(mails[0].to, ["alice@example.com"]);
    assert_eq!(mails[0].header("Bcc"), Vec::<String>::new());
    let subject = mails[0].header("Subject");
    assert_eq!(subject.len(), 1);
    assert!(subject[0].contains("Bcc: all@example.com"), "{subject:?}");
    assert!(mails[0].data.contains("> .\r\n> QUIT\r\n> b"), "{}", mails[0].data);
}

async fn a_server_that_does_not_encrypt_gets_no_mail() {
    let (world, plain) = (NotifierWorld::new().await, SmtpServer::plain().await);
    let required = settings(&plain, SmtpTls::Starttls);
    world.service.set_mail_server(&world.admin, required).await.unwrap();
    mail_channel(&world).await;

    let refused = world.service.test_channel(&world.alice, "mail").await.unwrap_err();
    // A certificate of an unknown authority is no encryption either.
    let unknown = SmtpServer::starttls().await;
    let untrusted = SmtpSettings { ca_pem: None, ..settings(&unknown, SmtpTls::Starttls) };
    world.service.set_mail_server(&world.admin, untrusted).await.unwrap();
    let distrusted = world.service.test_channel(&world.alice, "mail").await.unwrap_err();

    assert!(matches!(refused, NotificationError::Undelivered(_)), "{refused:?}");
    assert!(matches!(distrusted, NotificationError::Undelivered(_)), "{distrusted:?}");
    assert!(plain.mails().is_empty() && unknown.mails().is_empty());
}

async fn a_rejected_mail_is_sent_again_with_its_id() {
    let (world, server) = (NotifierWorld::new().await, SmtpServer::plain().await);
    world.service.set_mail_server(&world.admin, settings(&server, SmtpTls::None)).await.unwrap();
    mail_channel(&world).await;
    let request = world.request(&world.alice, "r").await;
    server.reject(Some("451 try later, alice@secret.example"));

    world.ask(&world.alice, request, "?").await;
    let stop = world.start(crate::world::OPTIONS);
    world.until(|| async { world.channel(&world.alice, "mail").await.failures > 2 }).await;
    let failing = world.channel(&world.alice, "mail").await;
    server.reject(None);
    world.until(|| async { server.mails().len() == 1 }).await;
    world.stop(&stop).await;

    let reason = failing.last_error.unwrap();
    assert!(reason.contains("451") && !reason.contains("secret.example"), "{reason}");
    let all = world.deliveries(&world.alice, None).await;
    assert_eq!(all.len(), 1);
    assert_eq!(server.mails()[0].header("Message-ID"), [format!("<{}@example.com>", all[0].id)]);
}

async fn only_an_administrator_sets_the_mail_server() {
    let (world, server) = (NotifierWorld::new().await, SmtpServer::plain().await);
    let plain = settings(&server, SmtpTls::None);

    for refused in [
        world.service.set_mail_server(&world.alice, plain.clone()).await.map(drop),
        world.service.get_mail_server(&world.alice).await.map(drop),
        world.service.remove_mail_server(&world.alice).await,
    ] {
        assert!(matches!(refused, Err(NotificationError::NotAdmin)));
    }
    for (faulty, reason) in [
        (SmtpSettings { host: "mail.example.com".to_owned(), ..plain.clone() }, "without TLS"),
        (
            SmtpSettings {
                from: "x@example.com\r\nBcc: y@example.com".to_owned(),
                ..plain.clone()
            },
            "from",
        ),
        (SmtpSettings { ca_pem: Some("nonsense".to_owned()), ..plain.clone() }, "ca_pem"),
        (SmtpSettings { username: Some("u".to_owned()), ..plain.clone() }, "password"),
        (SmtpSettings { port: 0, ..plain.clone() }, "port"),
    ] {
        let refused = world.service.set_mail_server(&world.admin, faulty).await.unwrap_err();
        assert!(refused.to_string().contains(reason), "{reason}: {refused}");
    }
    world.service.set_mail_server(&world.admin, plain).await.unwrap();
    for address in
        ["alice@evil.example", "alice@example.com.evil.example", "a@b\r\nBcc: c@example.com"]
    {
        let target = ChannelTarget::Email { address: address.to_owned() };
        let refused = world.service.create_channel(&world.alice, channel("mail", target)).await;
        assert!(matches!(refused, Err(NotificationError::Invalid(_))), "{address}");
    }
}
