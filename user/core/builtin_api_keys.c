/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys and tokens of providers, in the form that each documents, or that its own keys have
 * where it documents the prefix alone; a token that goes on is found by its first part. No
 * letter or digit stands before. The examples are in two parts, so that no scanner takes
 * this file for a leak.
 */
#include "core/builtin.h"

static const struct builtin_rule rules[] = {
	{
		/* https://docs.anthropic.com/en/api/overview */
		.name = "anthropic",
		.pattern = "(?<![0-9A-Za-z])sk-ant-[a-z]{2,8}[0-9]{2}-[0-9A-Za-z_-]{32}",
		.good = {"sk-ant-"
			 "api03-"
			 "0123456789abcdefABCDEF0123456789abcdefABCDEF0123456789abcdefABCDEF0123456"
			 "789abcd"},
		.bad = {"sk-ant-"
			"api03-short",
			"sk-"
			"ant"},
	},
	{
		/* https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html */
		.name = "aws_access_key_id",
		.pattern = "(?<![0-9A-Za-z])A(?:KI|SI|BI|CC)A[0-9A-Z]{16}(?![0-9A-Za-z])",
		.good = {"AKIA"
			 "IOSFODNN7EXAMPLE",
			 "ASIA"
			 "IOSFODNN7EXAMPLE",
			 "ABIA"
			 "IOSFODNN7EXAMPLE",
			 "ACCA"
			 "IOSFODNN7EXAMPLE"},
		.bad = {"AKIA"
			"IOSFODNN7EXAMPL",
			"AKIA"
			"IOSFODNN7EXAMPLEX",
			"xAKIA"
			"IOSFODNN7EXAMPLE",
			"AKIA"
			"iosfodnn7example"},
	},
	{
		/*
		 * https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys-how.html, with the
		 * lengths of https://github.com/awslabs/git-secrets: a long-term key, and a
		 * presigned request to bedrock.amazonaws.com in base64.
		 */
		.name = "aws_bedrock",
		.pattern = "(?<![0-9A-Za-z])(?:ABSK[0-9A-Za-z+/]{109}|"
			   "bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t)",
		.good = {"ABSK"
			 "0123456789abcdefABCDEF0123456789abcdefABCDEF0123456789abcdefABCDEF0123456"
			 "789abcdefABCDEF0123456789abcdefABCDE",
			 "bedrock-api-key-"
			 "YmVkcm9jay5hbWF6b25hd3MuY29tLz9BY3Rpb249Q2FsbA=="},
		.bad = {"ABSK"
			"0123456789abcdefABCDEF0123456789abcdefABCDEF0123456789abcdefABCDEF0123456"
			"789abcdefABCDEF0123456789abcdefABCD",
			"bedrock-api-key-"
			"YmVkcm9jay5hbWF6b25hd3MuY29"},
	},
	{
		/* https://learn.microsoft.com/en-us/azure/storage/common/storage-configure-connection-string */
		.name = "azure_storage_key",
		.pattern = "(?<![0-9A-Za-z])AccountKey=[0-9A-Za-z+/]{86}==",
		.good = {"AccountKey="
			 "0123456789abcdefABCDEF0123456789abcdefABCDEF0123456789abcdefABCDEF0123456"
			 "789abcdefABCD=="},
		.bad = {"AccountKey="
			"0123456789abcdefABCDEF0123456789abcdefABCDEF0123456789abcdefABCDEF01234567"
			"89abcdefABC==",
			"AccountKey="},
	},
	{
		/* https://learn.microsoft.com/en-us/purview/sit-defn-azure-ad-client-secret */
		.name = "azure_client_secret",
		.pattern = "(?<![0-9A-Za-z])[0-9A-Za-z_~.-]{3}[0-9]Q~[0-9A-Za-z_~.-]{31}",
		.good = {"abc8"
			 "Q~0123456789abcdefABCDEF0123456789ab"},
		.bad = {"abc8"
			"Q~0123456789abcdefABCDEF01234567"},
	},
	{
		/* https://learn.microsoft.com/en-us/azure/devops/organizations/accounts/use-personal-access-tokens-to-authenticate */
		.name = "azure_devops_token",
		.pattern = "(?<![0-9A-Za-z])[0-9A-Za-z]{76}AZDO[0-9A-Za-z]{4}(?![0-9A-Za-z])",
		.good = {"0123456789abcdefABCDEF0123456789abcdefABCDEF0123456789abcdefABCDEF0123456"
			 "789"
			 "AZDO0000"},
		.bad = {"0123456789abcdefABCDEF0123456789abcdefABCDEF0123456789abcdefABCDEF01234567"
			"8"
			"AZDO0000"},
	},
	{
		/* https://docs.databricks.com/aws/en/dev-tools/auth/pat */
		.name = "databricks",
		.pattern = "(?<![0-9A-Za-z])dapi[0-9a-f]{32}",
		.good = {"dapi"
			 "0123456789abcdef0123456789abcdef",
			 "dapi"
			 "0123456789abcdef0123456789abcdef-2"},
		.bad = {"dapi"
			"0123456789abcdef0123456789abcde"},
	},
	{
		/* https://docs.digitalocean.com/reference/api/create-personal-access-token/ */
		.name = "digitalocean",
		.pattern = "(?<![0-9A-Za-z])do[opr]_v1_[0-9a-f]{64}",
		.good = {"dop_v1_"
			 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
			 "doo_v1_"
			 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
		.bad = {"dop_v1_"
			"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde"},
	},
	{
		/* https://docs.docker.com/security/access-tokens/ */
		.name = "docker",
		.pattern = "(?<![0-9A-Za-z])dckr_(?:pat|oat)_[0-9A-Za-z_-]{27}",
		.good = {"dckr_pat_"
			 "0123456789abcdefABCDEF01234"},
		.bad = {"dckr_pat_"
			"0123456789abcdefABCDEF0123"},
	},
	{
		/* https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github#githubs-token-formats */
		.name = "github",
		.pattern = "(?<![0-9A-Za-z])gh[oprsu]_[0-9A-Za-z]{36}",
		.good = {"ghp_"
			 "0123456789abcdefABCDEF0123456789abcd",
			 "gho_"
			 "0123456789abcdefABCDEF0123456789abcd",
			 "ghs_"
			 "0123456789abcdefABCDEF0123456789abcd"},
		.bad = {"ghp_"
			"0123456789abcdefABCDEF0123456789abc",
			"ghx_"
			"0123456789abcdefABCDEF0123456789abcd"},
	},
	{
		/*
		 * https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-an-installation-access-token-for-a-github-app
		 * (ghs_APPID_JWT)
		 */
		.name = "github_app",
		.pattern = "(?<![0-9A-Za-z])ghs_[0-9]{1,20}_eyJ[0-9A-Za-z_-]{17}",
		.good = {"ghs_"
			 "1234567_eyJhbGciOiJIUzI1NiJ9.e30.c2ln"},
		.bad = {"ghs_"
			"1234567_eyJhbGciOiJIUzI1NiJ.e30.c2ln",
			"ghs_"
			"eyJhbGciOiJIUzI1NiJ9.e30.c2ln"},
	},
	{
		/* https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github#githubs-token-formats */
		.name = "github_fine_grained",
		.pattern = "(?<![0-9A-Za-z])github_pat_[0-9A-Za-z]{22}_[0-9A-Za-z]{59}",
		.good = {"github_pat_"
			 "0123456789abcdefABCDEF_"
			 "0123456789abcdefABCDEF0123456789abcdefABCDEF0123456789abcde"},
		.bad = {"github_pat_"
			"0123456789abcdefABCDEF_"
			"0123456789abcdefABCDEF0123456789abcdefABCDEF0123456789abcd"},
	},
	{
		/* https://docs.gitlab.com/security/tokens/#token-prefixes */
		.name = "gitlab",
		.pattern =
			"(?<![0-9A-Za-z])gl(?:pat|oas|dt|rtr?|cbt|ptt|ft|imt|agent|soat|ffct)-[0-"
			"9A-Za-z_-]{20}",
		.good = {"glpat-"
			 "0123456789abcdefABCD",
			 "glptt-"
			 "0123456789abcdefABCDEF0123456789abcdefAB",
			 "glrt-"
			 "0123456789abcdefABCD",
			 "glrtr-"
			 "0123456789abcdefABCD"},
		.bad = {"glpat-"
			"0123456789abcdefABC",
			"glxyz-"
			"0123456789abcdefABCD"},
	},
	{
		/* https://cloud.google.com/docs/authentication/api-keys */
		.name = "google_api_key",
		.pattern = "(?<![0-9A-Za-z])AIza[0-9A-Za-z_-]{35}",
		.good = {"AIza"
			 "0123456789abcdefABCDEF0123456789abc"},
		.bad = {"AIza"
			"0123456789abcdefABCDEF0123456789ab"},
	},
	{
		/* https://ai.google.dev/gemini-api/docs/api-key */
		.name = "google_auth_key",
		.pattern = "(?<![0-9A-Za-z])AQ\\.[0-9A-Za-z_-]{40}",
		.good = {"AQ."
			 "0123456789abcdefABCDEF0123456789abcdefABCDEF012345"},
		.bad = {"AQ."
			"0123456789abcdefABCDEF0123456789abcdefA",
			"FAQ."
			"0123456789abcdefABCDEF0123456789abcdefABCDEF012345"},
	},
	{
		/* https://support.google.com/cloud/answer/6158849 */
		.name = "google_oauth_secret",
		.pattern = "(?<![0-9A-Za-z])GOCSPX-[0-9A-Za-z_-]{28}",
		.good = {"GOCSPX-"
			 "0123456789abcdefABCDEF012345"},
		.bad = {"GOCSPX-"
			"0123456789abcdefABCDEF01234"},
	},
	{
		/* https://console.groq.com/docs/quickstart */
		.name = "groq",
		.pattern = "(?<![0-9A-Za-z])gsk_[0-9A-Za-z]{52}",
		.good = {"gsk_"
			 "0123456789abcdefABCDEF0123456789abcdefABCDEF01234567"},
		.bad = {"gsk_"
			"0123456789abcdefABCDEF0123456789abcdefABCDEF0123456"},
	},
	{
		/* https://developer.hashicorp.com/vault/docs/concepts/tokens */
		.name = "hashicorp_vault",
		.pattern = "(?<![0-9A-Za-z])hv[brs]\\.[0-9A-Za-z_-]{24}",
		.good = {"hvs."
			 "0123456789abcdefABCDEF01",
			 "hvb."
			 "0123456789abcdefABCDEF0123456789abcdefABCDEF0123456789abcdefABCDEF0123456"
			 "789abcdefABCDEF01"},
		.bad = {"hvs."
			"0123456789abcdefABCDEF0"},
	},
	{
		/* https://huggingface.co/docs/hub/security-tokens */
		.name = "hugging_face",
		.pattern = "(?<![0-9A-Za-z])hf_[0-9A-Za-z]{34}",
		.good = {"hf_"
			 "0123456789abcdefABCDEF0123456789ab"},
		.bad = {"hf_"
			"0123456789abcdefABCDEF0123456789a"},
	},
	{
		/* https://docs.npmjs.com/about-access-tokens */
		.name = "npm",
		.pattern = "(?<![0-9A-Za-z])npm_[0-9A-Za-z]{36}",
		.good = {"npm_"
			 "0123456789abcdefABCDEF0123456789abcd"},
		.bad = {"npm_"
			"0123456789abcdefABCDEF0123456789abc"},
	},
	{
		/* https://platform.openai.com/docs/api-reference/authentication */
		.name = "openai",
		.pattern = "(?<![0-9A-Za-z])sk-(?:proj|svcacct|admin)-[0-9A-Za-z_-]{40}",
		.good = {"sk-proj-"
			 "0123456789abcdefABCDEF0123456789abcdefABCDEF0123456789abcdefABCDEF0123456"
			 "7",
			 "sk-svcacct-"
			 "0123456789abcdefABCDEF0123456789abcdefAB"},
		.bad = {"sk-proj-"
			"0123456789abcdefABCDEF0123456789abcdefA",
			"sk-other-"
			"0123456789abcdefABCD"},
	},
	{
		/*
		 * https://platform.openai.com/docs/api-reference/authentication, in the middle
		 * "OpenAI" in base64; newer ones are longer, https://github.com/gitleaks/gitleaks/pull/2240
		 */
		.name = "openai_user",
		.pattern = "(?<![0-9A-Za-z])sk-[0-9A-Za-z_-]{20,80}T3BlbkFJ[0-9A-Za-z_-]{20}",
		.good = {"sk-"
			 "0123456789abcdefABCDT3BlbkFJ0123456789abcdefABCD",
			 "sk-"
			 "None-0123456789abcdefABCDT3BlbkFJ0123456789abcdefABCD",
			 "sk-"
			 "0123456789abcdefABCDEF_0123456789abcdefABCDE-"
			 "FT3BlbkFJ0123456789abcdefABCD"
			 "E-_0123456789abcdefABCD"},
		.bad = {"sk-"
			"0123456789abcdefABCDT3BlbkFX0123456789abcdefABCD"},
	},
	{
		/* https://pypi.org/help/#apitoken (a macaroon whose location is pypi.org) */
		.name = "pypi",
		.pattern = "(?<![0-9A-Za-z])pypi-(?:AgEIcHlwaS5vcmc|AgENdGVzdC5weXBpLm9yZw)[0-9A-"
			   "Za-z_-]{50}",
		.good = {"pypi-"
			 "AgEIcHlwaS5vcmc0123456789abcdefABCDEF0123456789abcdefABCDEF0123456789abcd"
			 "ef",
			 "pypi-"
			 "AgENdGVzdC5weXBpLm9yZw0123456789abcdefABCDEF0123456789abcdefABCDEF01234"
			 "5"},
		.bad = {"pypi-"
			"AgEIcHlwaS5vcmc0123456789abcdefABCDEF0123456789abcdefABCDEF01234"},
	},
	{
		/* https://www.twilio.com/docs/sendgrid/ui/account-and-settings/api-keys */
		.name = "sendgrid",
		.pattern = "(?<![0-9A-Za-z])SG\\.[0-9A-Za-z_-]{22}\\.[0-9A-Za-z_-]{43}",
		.good = {"SG."
			 "0123456789abcdefABCDEF.0123456789abcdefABCDEF0123456789abcdefABCDE"},
		.bad = {"SG."
			"0123456789abcdefABCDE.0123456789abcdefABCDEF0123456789abcdefABCDE"},
	},
	{
		/* https://shopify.dev/changelog/length-of-the-shopify-access-token-is-increasing */
		.name = "shopify",
		.pattern = "(?<![0-9A-Za-z])shp(?:at|ca|pa|ss)_[0-9A-Fa-f]{32}",
		.good = {"shpat_"
			 "0123456789abcdef0123456789abcdef"},
		.bad = {"shpat_"
			"0123456789abcdef0123456789abcde"},
	},
	{
		/* https://api.slack.com/concepts/token-types */
		.name = "slack",
		.pattern = "(?<![0-9A-Za-z])xox[abceoprs]-[0-9A-Za-z-]{20}",
		.good = {"xoxb-"
			 "000000000000-000000000000-0123456789abcdefABCDEF01",
			 "xoxp-"
			 "0123456789abcdefABCD",
			 "xoxe.xoxp-"
			 "1-0123456789abcdefABCDEF",
			 "xoxc-"
			 "000000000000-000000000000-0123456789abcdefABCDEF01"},
		.bad = {"xoxb-"
			"0123456789abcdefABC",
			"xoxz-"
			"0123456789abcdefABCD"},
	},
	{
		/* https://api.slack.com/concepts/token-types */
		.name = "slack_app",
		.pattern = "(?<![0-9A-Za-z])xapp-[0-9]-[0-9A-Z]{8,16}-[0-9]{8,16}-[0-9a-f]{32}",
		.good = {"xapp-"
			 "1-A0000000000-0000000000000-"
			 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
		.bad = {"xapp-"
			"1-A0000000000-0000000000000-0123456789abcdef0123456789abcde"},
	},
	{
		/* https://api.slack.com/messaging/webhooks */
		.name = "slack_webhook",
		.pattern = "(?<![0-9A-Za-z])hooks\\.slack\\.com/services/T[0-9A-Z]{8,12}/"
			   "B[0-9A-Z]{8,12}/[0-9A-Za-z]{24}",
		.good = {"https://hooks.slack.com/"
			 "services/T00000000/B00000000/0123456789abcdefABCDEF01"},
		.bad = {"https://hooks.slack.com/"
			"services/T00000000/B00000000/0123456789abcdefABCDEF0"},
	},
	{
		/*
		 * https://docs.stripe.com/keys, with the length that Stripe gives at
		 * https://gitlab.com/gitlab-org/gitlab/-/issues/458019
		 */
		.name = "stripe",
		.pattern = "(?<![0-9A-Za-z])[rs]k_(?:live|test)_[0-9A-Za-z]{10}",
		.good = {"sk_live_"
			 "0123456789abcdefABCDEF01",
			 "rk_test_"
			 "0123456789abcdefABCDEF01",
			 "sk_live_"
			 "0123456789"},
		.bad = {"sk_live_"
			"012345678",
			"pk_live_"
			"0123456789abcdefABCDEF01"},
	},
	{
		/* https://core.telegram.org/bots/features#creating-a-new-bot */
		.name = "telegram",
		.pattern = "(?<![0-9A-Za-z])[0-9]{8,10}:AA[0-9A-Za-z_-]{33}",
		.good = {"123456789"
			 ":AA0123456789abcdefABCDEF0123456789a"},
		.bad = {"123456789"
			":AB0123456789abcdefABCDEF0123456789a",
			"1234567"
			":AA0123456789abcdefABCDEF0123456789a"},
	},
	{
		/* https://docs.x.ai/docs/tutorial */
		.name = "xai",
		.pattern = "(?<![0-9A-Za-z])xai-[0-9A-Za-z]{80}",
		.good = {"xai-"
			 "0123456789abcdefABCDEF0123456789abcdefABCDEF0123456789abcdefABCDEF0123456"
			 "789abcd"},
		.bad = {"xai-"
			"0123456789abcdefABCDEF0123456789abcdefABCDEF0123456789abcdefABCDEF01234567"
			"89abc"},
	},
};

const struct builtin_set builtin_api_keys = {"api_keys", rules, ARRAY_SIZE(rules)};
