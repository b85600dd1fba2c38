//! Blocks as ggml 0.13.1's reference encoders write them for the elements of [`element`].

use crate::tensor::DType;

/// Element `i`: a saw whose teeth grow from group to group, exact in an f32.
pub fn element(i: usize) -> f32 {
    ((i * 37 + 11) % 256) as f32 / 1024.0 * (1 + i / 32) as f32 - (1 + i / 32) as f32 / 8.0
}

/// The first block of each type, in hex.
pub const BLOCKS: &[(DType, &str)] = &[
    (DType::Q4_0, "50235083b5d8fa1d3f6083b5d8fa1d3f6083"),
    (DType::Q4_1, "b32350af5082a5c7fa1c3e5083a5d7fa1c3f6083"),
    (DType::Q5_0, "501f703c1e8fb0055aaff4196eb0055bb0f52a7fc116"),
    (DType::Q5_1, "741f50af70381e8fb0055aaff4196eb0055aaff4297ec116"),
    (DType::Q8_0, "5f1381a9d1f9224a7284acd5fd254d7588b0d8002850788bb3db032b547c8eb6de07"),
    (DType::Q8_1, "5f1384b381a9d1f9224a7284acd5fd254d7588b0d8002850788bb3db032b547c8eb6de07"),
    (DType::IQ4_NL, "6c135082b4e7fb0d2f5082b4e8fb1d3f5082"),
    (DType::MXFP4, "79cf0e4d6974f6e7cf0e4c6074f6e7cf1e"),
    (
        DType::Q2_K,
        "222234346656786779a9bbabbdbddeffd8192d62728697d8196d62728797d8292d627287c7d8192d\
         62b687c7d819616261b686cbd81c6165b68acb1c1c6166b687d8192d6272b787d8196d62b2b7cbd8\
         00291a2c",
    ),
    (
        DType::Q3_K,
        "90886c6f7ff393900c6c6ffff393800cffed6c6002939fffed6c6012939ffded2cf6d36c39c65329\
         c6d36c39c65329c69d643bce513bce9d643bce553bce9164540ab1641bceb154ceb164dbcea117ce\
         b3e4194ea7194eb3e4194ee4194eb3e4d43c69b87b6b02e10a3935f61a20",
    ),
    (
        DType::Q4_K,
        "3e18ba238791d5dd8891d8dd9bc902ffa0c3e5284a6d8fa1c3e6284b6d8fa1c3e6284b6d8fa1c4e6\
         294b6e8fa1c40629e5072a5c7fa0c2e5073a5c7fa0c3f5083a5d8fa0c3f5183a5d8fa1d3f6183b6d\
         285a7caec2f406285a7caec2f406285a7ca0d2f406385a8ca0d2f406385a8ca06c8ea0d2f5274a6c\
         8fb0d305274a6c9fb0d305284a7d9fb1d305285a7d9fb1d3",
    ),
    (
        DType::Q5_K,
        "1c14ee238790d5dd879097dc87dbf3ff5ad296b4a5294b5ad296b425294b5ad696a42d694b5ad6b6\
         a52d694b5ad6b4a55094e93f84c91e50a5ea3f84c91e50a5ea4f85da1f60a6fb4095da2f61b60b40\
         da0f54a9fe4095ea0f54a9ff4095ea1065ba0f50a6eb1065ba0f51a6fb1065bb51a6fa4f94e80d52\
         a6fb4f94e90d52a7fb50a4f91e62b70c50a5f91e63b70c51d81d60b5fa4f94d92e60b50a4f94e92e\
         71b60b5095e93e71c61b50a5ea3f72c6",
    ),
    (
        DType::Q6_K,
        "21cb55fe8802ac32dc660f9913ac43dd7a10b60ba14ee48a2fc51ab05ef3993e25fb51ab0167ce24\
         ea41aaf057bd13d93e98f15bb41dc62f89e24ba40eb7117acd24db3298ff56bd13ca2187ee45ac03\
         a70079d34ca51e97016ad33da60f88f259c33da7117be04ab42e98f26cd14bb5ff8913ad41db650f\
         9a24be42ec7600aa14d0e1adbe4b0714d0e1bd7e4b0714d0eeb27544081bdfeeb17544081bdfe2b1\
         814574382fde9281457438efde928145b7f82c1d514286f7f82c1d514286fbe80ff2e2202e2cc7c6\
         b04f58569a95807d110c",
    ),
    (
        DType::Q8_K,
        "000000bc0f0a0501fcf8f30e0a0500fcf7f20e090500fbf7f20e090400fbf6f20d0804fff5ece31a\
         1007fef4ebe2191006fdf4eae1180f06fcf3eae0170e05fcf2e920161406f8eadc2e211305f7e9db\
         2d201204f6e8da2c1e1003f5e7d92b1d0f02f4e6ca38261300eedcc9362412ffecdac8352210feeb\
         d8c634210efcead7c432200df9e2cbb43d260ef7e0c9b23b240cf5dec75039220bf4dcc54e372009\
         f2dac34c402408ecd1b5593e2206eaceb3573b2004e8ccb055391d02e6caae52371bffe4be9e5e3d\
         1dfcdcbc9b5b3b1afadab999583818f7d7b696563515f5d4b494533315f0cba6815c3712edc8a37e\
         59340feac5a07b56310ce7c29d78532e09e4bf9a1f00ffffbefffeff5d00fdfffcfffcff5bff9b00\
         ba00faff19fff9fff8fff8ff",
    ),
    (
        DType::IQ4_XS,
        "2b0c6a0f842b54075182b5d7fa1d3e5183b5d8fb1d3f5183fb2d4f6193c6e9fb2e4f6193c6e90c2e\
         a4d6fa0c2e4072a4d7fa0d2f4082b4d7d0bf7e4b2805f2d0bf7d4b2804f2d0afe90c2e4f62a3c6e9\
         0c2e4f72a4c6e90c72b4d7fa0d2f4082b4d7fb0d2f5082b4f2d0af7d4b2804f2d0af7d4b2704f2d0\
         4a27f4e2c09e6c3916f4e2bf9e6c3916",
    ),
    (
        DType::TQ1_0,
        "80808081808080808080818080808080807f8080808080807f8080808080807f3189769d65d72e86\
         89769d62d72e868988cb232df03b",
    ),
    (
        DType::TQ2_0,
        "55555555555555555555555555555555555555555555555555555555555555556165459695195165\
         654596151951656545941519516565459415195165658594f03b",
    ),
];
