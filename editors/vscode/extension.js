// Starts `threadproof lsp` and connects it with the editor. Everything else is done by the server.
"use strict";
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = function (context) {
  const settings = vscode.workspace.getConfiguration("threadproof");
  const server = { command: settings.get("path", "threadproof"), args: ["lsp"] };
  const documentSelector = [{ scheme: "file", language: "threadproof" }];
  if (settings.get("c", false)) documentSelector.push({ scheme: "file", language: "c" });
  if (settings.get("java", false)) documentSelector.push({ scheme: "file", language: "java" });
  client = new LanguageClient("threadproof", "Threadproof", server, { documentSelector });
  context.subscriptions.push({ dispose: () => client.stop() });
  return client.start();
};

exports.deactivate = function () {
  return client ? client.stop() : undefined;
};
