/** The light build has everything that we use; its package describes only the full one. */
declare module "hls.js/light" {
  export * from "hls.js";
  export { default } from "hls.js";
}
