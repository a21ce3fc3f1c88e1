const { Notice, Plugin } = require("obsidian");
const PAGE = "http://127.0.0.1:PORT/ui/note?beside=1&";
module.exports = class extends Plugin {
  onload() {
    const open = () => this.show(true);
    this.addCommand({ id: "note", name: "What is known of this note", callback: open });
    this.addRibbonIcon("brain", "What is known of this note", open);
    this.registerEvent(this.app.workspace.on("file-open", () => this.show(false)));
  }
  async show(asked) {
    const { workspace, internalPlugins } = this.app, file = workspace.getActiveFile();
    if (!file || !(asked || this.leaf?.parent)) return;
    if (!internalPlugins.getEnabledPluginById("webviewer")) return new Notice("Enable the core plugin Web viewer first.");
    if (!this.leaf?.parent) this.leaf = workspace.getRightLeaf(false) ?? workspace.getLeaf("tab");
    const url = PAGE + new URLSearchParams({ vault: this.app.vault.adapter.getBasePath(), path: file.path });
    await this.leaf.setViewState({ type: "webviewer", state: { url, navigate: true } });
    if (asked) workspace.revealLeaf(this.leaf);
  }
};
