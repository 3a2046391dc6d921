use super::*;
use serde_json::json;

/// Bodies as the documents of those who send them show them, with names of our own.
fn bodies() -> Vec<(AlertForm, Value)> {
    let labelled = json!({"labels": {"alertname": "Slow", "service": "cart"}, "annotations": {"summary": "s"},
        "startsAt": "2026-01-01T10:00:00.5Z", "endsAt": "0001-01-01T00:00:00Z", "generatorURL": "http://p/graph?g0.expr=up"});
    let with = |more: Value| {
        let mut one = labelled.clone();
        for (name, value) in more.as_object().unwrap() {
            one[name] = value.clone();
        }
        one
    };
    vec![
        (
            AlertForm::AlertmanagerWebhook,
            json!({"version": "4", "groupKey": "{}:{}", "truncatedAlerts": 2, "status": "firing", "receiver": "eog",
                "groupLabels": {"cluster": "eu"}, "commonLabels": {}, "commonAnnotations": {}, "externalURL": "http://am:9093",
                "alerts": [with(json!({"status": "firing", "fingerprint": "a1"}))]}),
        ),
        (
            AlertForm::AlertmanagerApi,
            json!([with(
                json!({"fingerprint": "a1", "receivers": [{"name": "r"}], "updatedAt": "2026-01-01T10:05:00Z",
                "status": {"state": "active", "silencedBy": [], "inhibitedBy": []}})
            )]),
        ),
        // As Prometheus sends it.
        (
            AlertForm::AlertmanagerApi,
            json!([{"labels": {"alertname": "Slow", "service": "cart"},
            "startsAt": "2026-01-01T10:00:00.5Z"}]),
        ),
        (
            AlertForm::AlertmanagerApi,
            json!([{"labels": {}, "receiver": {"name": "r"}, "alerts": [labelled]}]),
        ),
        (
            AlertForm::PrometheusAlerts,
            json!({"status": "success", "data": {"alerts": [{"labels": {"alertname": "Slow", "service": "cart"},
                "annotations": {}, "state": "firing", "activeAt": "2026-01-01T10:00:00.5Z", "value": "1e+00"}]}}),
        ),
        (
            AlertForm::PrometheusRules,
            json!({"status": "success", "data": {"groups": [{"name": "g", "file": "f", "interval": 60, "rules": [
                {"type": "recording", "name": "a:b", "query": "up"},
                {"type": "alerting", "name": "Slow", "query": "up == 0", "duration": 60, "state": "firing", "alerts": [
                    {"labels": {"alertname": "Slow", "service": "cart"}, "annotations": {}, "state": "firing",
                     "activeAt": "2026-01-01T10:00:00.5Z", "value": "1e+00"}]}]}]}}),
        ),
        (
            AlertForm::Grafana,
            json!({"receiver": "eog", "status": "firing", "orgId": 1, "version": "1", "groupKey": "{}:{}",
                "groupLabels": {}, "commonLabels": {}, "commonAnnotations": {}, "externalURL": "http://g/",
                "title": "[FIRING:1]", "state": "alerting", "message": "m", "truncatedAlerts": 0,
                "alerts": [with(json!({"status": "firing", "fingerprint": "a1", "values": {"B": 6.7},
                    "valueString": "[ var='B' labels={} value=6.7 ]", "dashboardURL": "", "panelURL": ""}))]}),
        ),
        (
            AlertForm::PagerDuty,
            json!({"event": {"id": "01", "event_type": "incident.triggered", "resource_type": "incident",
                "occurred_at": "2026-01-01T10:00:01Z", "agent": null, "client": null, "data": {"id": "PGR0VU2", "type": "incident",
                "self": "https://api.pagerduty.com/incidents/PGR0VU2", "html_url": "https://acme.pagerduty.com/incidents/PGR0VU2",
                "number": 2, "status": "triggered", "incident_key": "k", "created_at": "2026-01-01T10:00:00.5Z", "title": "Slow",
                "service": {"html_url": "h", "id": "PF9KMXH", "summary": "cart", "type": "service_reference"},
                "assignees": [], "urgency": "high", "teams": [], "priority": {"summary": "P1"}}}}),
        ),
        (
            AlertForm::PagerDutyEvent,
            json!({"routing_key": "hidden", "event_action": "trigger", "dedup_key": "k", "client_url": "http://c",
                "payload": {"summary": "Slow", "source": "web-1", "severity": "critical", "component": "cart",
                "timestamp": "2026-01-01T10:00:00.500+0000", "custom_details": {"queue": "orders", "deep": {"x": 1}}}}),
        ),
        (
            AlertForm::Opsgenie,
            json!({"source": {"name": "web", "type": "API"}, "action": "Create", "integrationId": "i", "integrationName": "n",
                "alert": {"alertId": "0522", "tinyId": "1791", "alias": "k", "message": "Slow", "entity": "cart",
                "tags": ["service:cart", "plain"], "details": {"queue": "orders"}, "createdAt": 1_767_261_600_500_i64,
                "updatedAt": 1_767_261_600_500_i64, "username": "u", "userId": "2", "priority": "P1", "source": "s",
                "description": "d", "teams": [], "responders": []}}),
        ),
        (
            AlertForm::Datadog,
            json!({"body": "b", "last_updated": "1767261600500", "event_type": "query_alert_monitor",
                "title": "[Triggered on {service:cart,host:web-1}] Slow", "date": "1767261600500",
                "org": {"id": "1", "name": "acme"}, "id": "7"}),
        ),
        (
            AlertForm::CloudWatch,
            json!({"Type": "Notification", "MessageId": "m", "TopicArn": "arn:aws:sns:eu-west-1:1:t", "Subject": "ALARM",
                "Timestamp": "2026-01-01T10:00:02Z", "SignatureVersion": "1", "Signature": "s", "UnsubscribeURL": "https://sns…",
                "Message": json!({"AlarmName": "Slow", "AlarmDescription": "d", "AWSAccountId": "1", "NewStateValue": "ALARM",
                    "NewStateReason": "Threshold Crossed", "StateChangeTime": "2026-01-01T10:00:00.500+0000",
                    "Region": "EU (Ireland)", "AlarmArn": "arn:aws:cloudwatch:eu-west-1:1:alarm:Slow", "OldStateValue": "OK",
                    "Trigger": {"MetricName": "Latency", "Namespace": "AWS/ECS", "Statistic": "AVERAGE", "Dimensions": [
                        {"value": "cart", "name": "ServiceName"}], "Period": 60, "Threshold": 1.0}}).to_string()}),
        ),
        (
            AlertForm::CloudEvent,
            json!({"specversion": "1.0", "type": "com.acme.alert.raised", "source": "/monitor", "id": "1", "subject": "cart",
                "time": "2026-01-01T10:00:00.5Z", "datacontenttype": "application/json", "data": {"alertname": "Slow", "service": "cart"}}),
        ),
    ]
}

#[test]
fn every_form_is_recognized_by_its_content() {
    for (form, body) in bodies() {
        let read = read_notices(&body).unwrap_or_else(|reason| panic!("{form}: {reason}"));
        assert_eq!(read.form, form);
        let [alert] = &read.alerts[..] else { panic!("{form}: {read:?}") };
        assert_eq!(alert.labels["alertname"], "Slow", "{form}");
        assert_eq!(alert.state, AlertState::Firing, "{form}");
        assert_eq!(alert.starts_at, "2026-01-01T10:00:00.5Z".parse().ok(), "{form}");
        assert_eq!(alert.ends_at, None, "{form}");
        let names_cart = alert.labels.values().any(|value| value == "cart");
        assert!(names_cart, "{form}: {:?}", alert.labels);
        let all = format!("{alert:?}");
        assert!(!all.contains("hidden"), "{form}: a key of an integration is no label");
    }
}

#[test]
fn what_is_over_is_read_as_such_and_by_the_same_key() {
    // The place that changes, and what it says then.
    let over = [
        (AlertForm::Grafana, "/alerts/0/status", json!("resolved")),
        (AlertForm::AlertmanagerWebhook, "/alerts/0/status", json!("resolved")),
        (AlertForm::PagerDuty, "/event/event_type", json!("incident.resolved")),
        (AlertForm::PagerDutyEvent, "/event_action", json!("resolve")),
        (AlertForm::Opsgenie, "/action", json!("Close")),
        (AlertForm::Datadog, "/title", json!("[Recovered on {service:cart,host:web-1}] Slow")),
        (AlertForm::CloudEvent, "/type", json!("com.acme.alert.resolved")),
    ];
    for (form, place, value) in over {
        let (_, mut body) = bodies().into_iter().find(|(it, _)| *it == form).unwrap();
        let before = read_notices(&body).unwrap();
        *body.pointer_mut(place).unwrap() = value;
        let after = read_notices(&body).unwrap();
        assert_eq!(after.alerts[0].state, AlertState::Resolved, "{form}");
        assert_eq!(
            (&after.group, &after.alerts[0].key),
            (&before.group, &before.alerts[0].key),
            "{form}"
        );
    }
}

#[test]
fn an_event_may_hold_an_alert_of_another_form() {
    let (_, webhook) = bodies().into_iter().next().unwrap();
    let event =
        json!({"specversion": "1.0", "type": "t", "source": "s", "id": "1", "data": webhook});
    let read = read_notices(&json!([event, {"specversion": "1.0", "id": "2"}])).unwrap();
    assert_eq!((read.form, read.alerts.len(), read.truncated), (AlertForm::CloudEvent, 1, 2));
    assert_eq!(read.unusable, ["a CloudEvent needs type and source"]);
}

#[test]
fn a_subscription_says_where_it_is_confirmed() {
    let body = json!({"Type": "SubscriptionConfirmation", "TopicArn": "arn:aws:sns:eu-west-1:1:t", "Token": "x",
        "SubscribeURL": "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription", "Message": "m"});
    let read = read_notices(&body).unwrap();
    assert_eq!(read.form, AlertForm::SnsSubscription);
    assert!(read.subscription.unwrap().0.starts_with("https://sns."));
}

#[test]
fn anything_else_is_refused_in_one_line_that_says_what_was_expected() {
    let cases = [
        (json!(7), "neither an object nor a list"),
        (json!({}), "an empty object"),
        (json!({"foo": 1}), "an object with foo"),
        (json!([1, 2]), "a list of 2 that hold no labels"),
        (json!({"version": "3", "alerts": []}), "version \"3\""),
        (
            json!({"event": {"event_type": "service.updated", "resource_type": "service"}}),
            "only events of incidents",
        ),
    ];
    for (body, expected) in cases {
        let error = read_notices(&body).unwrap_err();
        assert!(error.contains(expected) && error.lines().count() == 1, "{error}");
    }
    let broken =
        json!([{"labels": {"job": "x"}}, {"labels": {"alertname": "A"}, "startsAt": "yesterday"}]);
    let read = read_notices(&broken).unwrap();
    assert_eq!(
        read.unusable,
        ["alert 1: it has no label alertname", "alert 2: \"yesterday\" is no time"]
    );
}
